"""From a device's cells to readings: vendor files, places of sensors, the map of a device, what may be believed."""
