"""forelight.toml: right keys, helpful errors, secrets that stay out of it."""

from datetime import timedelta
from pathlib import Path

import pytest

from ingest.config import Config, SnmpOptions, load_config, load_retention
from ingest.errors import ConfigError

WHOLE = """
[collect]
interval_s = 30
concurrency = 8

[[target]]
site = "north"
device = "leaf01"
address = "10.0.0.11"
protocol = "snmp"
[target.snmp]
version = "2c"
community_env = "LEAF01_COMMUNITY"
engine = "pysnmp"

[[target]]
device = "leaf02"
address = "leaf02.example.net"
port = 1161
[target.snmp]
community_file = "secret"
"""
ONE = '[[target]]\ndevice = "leaf01"\naddress = "10.0.0.11"\n'
SNMP = ONE + '[target.snmp]\ncommunity_env = "A"\n'
V3 = ONE + '[target.snmp]\nversion = "3"\n'
GNMI = ONE + 'protocol = "gnmi"\n'
AUTH = 'user = "u"\nauth_protocol = "sha256"\nauth_env = "A"\n'


def _load(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "forelight.toml"
    path.write_text(text)
    return load_config(path)


def test_a_whole_configuration_is_read(tmp_path: Path) -> None:
    config = _load(tmp_path, WHOLE)
    first, second = config.target

    assert (30.0, 8) == (config.collect.interval_s, config.collect.concurrency)
    assert ("north", "leaf01", 161) == (first.site, first.device, first.port)
    assert ("default", "leaf02", 1161) == (second.site, second.device, second.port)
    assert ["pysnmp", "gufo"] == [target.snmp.engine for target in config.target if target.snmp]
    assert [] == config.warnings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[colect]\n" + ONE, "the file: unknown key 'colect'; the nearest is 'collect'"),
        ("[collect]\ninterval = 3\n" + ONE, "[collect]: unknown key 'interval'; the nearest is 'interval_s'"),
        (ONE + 'adress = "x"\n', "[target] of leaf01: unknown key 'adress'; the nearest is 'address'"),
        (
            ONE + '[target.snmp]\ncomunity_env = "X"\ncommunity = "x"\n',
            "[target.snmp] of leaf01: unknown key 'comunity_env'; the nearest is 'community_env'",
        ),
        (ONE + "[target.gnmi]\nskip_verfy = true\n", "[target.gnmi] of leaf01: unknown key 'skip_verfy'"),
        (GNMI, "[target] of leaf01: needs a [target.gnmi] section"),
        (GNMI + '[target.gnmi]\nusername = "u"\n', "username without a password"),
        (GNMI + '[target.gnmi]\npassword_env = "P"\n', "password_env without a username"),
        (GNMI + '[target.gnmi]\ntoken_env = "T"\ntoken_file = "t"\n', "needs just one of token_env and token_file"),
        (
            GNMI + '[target.gnmi]\nusername = "u"\npassword_env = "P"\ntoken_env = "T"\n',
            "token_env and username are two ways to say who asks",
        ),
        (GNMI + '[target.gnmi]\ninsecure = true\nca_file = "ca"\n', "insecure = true is no TLS at all: ca_file"),
        (GNMI + "[target.gnmi]\ninsecure = true\nskip_verify = true\n", "skip_verify would do nothing"),
        (GNMI + '[target.gnmi]\nskip_verify = true\nca_file = "ca"\n', "skip_verify = true verifies nothing"),
        (GNMI + '[target.gnmi]\ncert_file = "c"\n', "cert_file and key_file belong together"),
        ('[[target]]\ndevice = "leaf01"\n', "[target] of leaf01: address is missing"),
        ("[collect]\ninterval_s = 60\n", "the file: target is missing"),
        (ONE, "[target] of leaf01: needs a [target.snmp] section"),
        (ONE + "[target.snmp]\n", "needs just one of community_env, community_file and community, not none"),
        (ONE + '[target.snmp]\ncommunity = "a"\ncommunity_env = "B"\n', "not community and community_env"),
        (V3, 'version = "3" needs user'),
        (V3 + 'community = "a"\n', 'community belongs to versions "1" and "2c", this is "3": it needs user'),
        (ONE + '[target.snmp]\ncommunity_env = "A"\nuser = "u"\n', 'user belongs to version = "3", this is "2c"'),
        (V3 + 'user = "u"\nauth_env = "A"\n', "auth_env without auth_protocol"),
        (V3 + 'user = "u"\nauth_protocol = "sha1"\n', "auth_protocol needs just one of auth_env and auth_file"),
        (V3 + AUTH + 'auth_file = "a"\n', "auth_protocol needs just one of auth_env and auth_file"),
        (V3 + 'user = "u"\npriv_protocol = "des"\n', "priv_protocol without auth_protocol: encryption needs"),
        (V3 + AUTH + 'priv_file = "a"\n', "priv_file without priv_protocol"),
        (V3 + AUTH + 'priv_protocol = "aes"\n', "input should be 'des', 'aes128', 'aes192' or 'aes256'"),
        (V3 + AUTH + 'auth_protcol = "md5"\n', "unknown key 'auth_protcol'; the nearest is 'auth_protocol'"),
        (V3 + AUTH + 'context = "vlan-1"\nengine = "gufo"\n', 'engine = "gufo" knows no context'),
        (ONE + "port = 70000\n", "[target.port] of leaf01: input should be less than or equal to 65535"),
        (2 * (ONE + '[target.snmp]\ncommunity_env = "A"\n'), "device 'leaf01' of site 'default' is there twice"),
        ("[collect\n", "line 1"),
        (
            "[retention]\nlane_sample = 30\n" + SNMP,
            "[retention]: unknown key 'lane_sample'; the nearest is 'lane_samples'",
        ),
        ("[retention]\nport_tile = 30\n" + SNMP, "[retention]: unknown key 'port_tile'; the nearest is 'port_tiles'"),
        (
            "[retention]\nmodules = 30\n" + SNMP,
            "[retention]: modules has no days that could be dropped: it is kept for ever",
        ),
        ("[retention]\nscores = 0\n" + SNMP, "[retention.scores]: input should be greater than or equal to 1"),
        ('[retention]\nscores = "30d"\n' + SNMP, "[retention.scores]: input should be a valid number"),
        ("retention = 30\n" + SNMP, "[retention]: "),
    ],
)
def test_what_cannot_be_is_named_in_one_line_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        _load(tmp_path, text)

    assert expected in str(error.value)
    assert "\n" not in str(error.value)
    assert "forelight.toml" in str(error.value)


def test_retention_is_days_by_table_and_needs_no_targets(tmp_path: Path) -> None:
    (tmp_path / "forelight.toml").write_text("[retention]\nlane_samples = 400\nscores = 30.5\n")

    ages = load_retention(tmp_path / "forelight.toml")

    assert {"lane_samples": timedelta(days=400), "scores": timedelta(days=30, hours=12)} == ages
    assert timedelta(days=7) == _load(tmp_path, "[retention]\nport_events = 7\n" + SNMP).retention.ages()["port_events"]


def test_whoever_asks_for_the_retention_is_told_of_any_wrong_key(tmp_path: Path) -> None:
    (tmp_path / "forelight.toml").write_text("[retentoin]\nlane_samples = 400\n")

    with pytest.raises(ConfigError, match="the file: unknown key 'retentoin'; the nearest is 'retention'"):
        load_retention(tmp_path / "forelight.toml")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_config(tmp_path / "none.toml")


def test_a_community_in_the_open_works_and_is_warned_about(tmp_path: Path) -> None:
    config = _load(tmp_path, ONE + '[target.snmp]\ncommunity = "sesame"\n')

    assert ["leaf01: community stands in the file; community_env or community_file keep it out"] == (config.warnings())
    assert "sesame" not in repr(config)
    assert "sesame" == SnmpOptions.model_validate({"community": "sesame"}).read_community()


def test_a_community_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sesame\n")
    by_file = SnmpOptions(community_file=tmp_path / "secret")
    by_env = SnmpOptions(community_env="LEAF01_COMMUNITY")

    assert "sesame" == by_file.read_community()
    assert "sesame" == by_env.read_community({"LEAF01_COMMUNITY": "sesame"})


def test_a_secret_that_is_not_there_is_an_error_that_names_where_it_should_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"LEAF01_COMMUNITY .* is not set"):
        SnmpOptions(community_env="LEAF01_COMMUNITY").read_community({})
    with pytest.raises(ConfigError, match="No such file"):
        SnmpOptions(community_file=tmp_path / "none").read_community()


def test_a_version_3_user_comes_with_passwords_that_show_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("open-sesame-2\n")
    config = _load(tmp_path, f'{V3}{AUTH}priv_protocol = "aes128"\npriv_file = "{tmp_path}/secret"\n')
    options = config.target[0].snmp
    assert options is not None

    user = options.read_user({"A": "open-sesame-1"})

    assert user is not None
    assert ("u", "open-sesame-1", "open-sesame-2") == (user.name, user.auth_password, user.priv_password)
    assert "authPriv" == user.level
    assert "sesame" not in f"{user!r} {user} {config!r}"


def test_a_password_that_no_agent_takes_is_refused_by_the_name_of_its_place() -> None:
    options = SnmpOptions(version="3", user="u", auth_protocol="sha256", auth_env="A")

    with pytest.raises(ConfigError, match=r"the password in A \(auth_env\) is shorter than 8 characters") as error:
        options.read_user({"A": "sesame"})

    assert "sesame" not in str(error.value)


def test_broken_ciphers_work_and_are_warned_about(tmp_path: Path) -> None:
    weak = AUTH.replace("sha256", "md5") + 'priv_protocol = "des"\npriv_env = "B"\n'

    warnings = _load(tmp_path, V3 + weak).warnings()

    assert [
        "leaf01: MD5 is broken; use SHA-2 and AES where the device has them",
        "leaf01: DES is broken; use SHA-2 and AES where the device has them",
    ] == warnings


def test_a_context_is_asked_by_the_engine_that_knows_them() -> None:
    by_default = SnmpOptions(version="3", user="u")
    with_context = SnmpOptions(version="3", user="u", context="vlan-1")

    assert ("gufo", "pysnmp") == (by_default.engine_to_use, with_context.engine_to_use)
