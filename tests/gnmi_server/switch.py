"""What a made switch says: modules with lanes, limits and serial numbers, in ports that are up."""

from gnmi_server.server import Tree


def optics(tree: Tree, ports: int = 2, lanes: int = 4) -> None:
    """Put a switch into a tree."""
    for number in range(1, ports + 1):
        port, component = f"Ethernet{number}/1", f"Ethernet{number} transceiver"
        at, interface = f"components/component[name={component}]", f"interfaces/interface[name={port}]"
        for lane in range(lanes):
            channel = f"{at}/transceiver/physical-channels/channel[index={lane}]/state"
            tree.put(f"{channel}/input-power/instant", -2.0 - lane / 10)
            tree.put(f"{channel}/output-power/instant", 1.0 + lane / 10)
            tree.put(f"{channel}/laser-bias-current/instant", 40.0 + lane)
            tree.put(f"{channel}/rx-los", value=False)
        tree.put(f"{at}/state/temperature/instant", 41.5)
        tree.put(f"{at}/state/type", "openconfig-platform-types:TRANSCEIVER")
        tree.put(f"{at}/transceiver/state/supply-voltage/instant", 3.29)
        tree.put(f"{at}/transceiver/state/serial-no", f"SN{number:04d}  ")
        tree.put(f"{at}/transceiver/state/vendor", "ACME")
        tree.put(f"{at}/transceiver/state/vendor-part", "Q-400")
        for severity, low, high in (("WARNING", -8.0, 4.0), ("CRITICAL", -11.0, 6.0)):
            limits = f"{at}/transceiver/thresholds/threshold[severity={severity}]/state"
            tree.put(f"{limits}/input-power-lower", low)
            tree.put(f"{limits}/input-power-upper", high)
        tree.put(f"{interface}/state/oper-status", "UP")
        tree.put(f"{interface}/state/admin-status", "UP")
        tree.put(f"{interface}/state/transceiver", component)
        tree.put(f"{interface}/state/counters/in-unicast-pkts", 1000 * number)
        tree.put(f"{interface}/state/counters/in-fcs-errors", 0)
