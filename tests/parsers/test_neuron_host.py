from neff_bench.parsers.neuron_host import driver_version, runtime_version


def test_versions_are_those_of_the_module_and_of_the_name_of_libnrt(tmp_path):
    assert driver_version(tmp_path) is None and runtime_version(tmp_path) is None
    (tmp_path / "sys/module/neuron").mkdir(parents=True)
    (tmp_path / "sys/module/neuron/version").write_text("2.30.2.0\n")
    libraries = tmp_path / "opt/aws/neuron/lib"
    libraries.mkdir(parents=True)
    (libraries / "libnrt.so.2.34.10.0").touch()
    (libraries / "libnrt.so.1").symlink_to("libnrt.so.2.34.10.0")
    assert (driver_version(tmp_path), runtime_version(tmp_path)) == ("2.30.2.0", "2.34.10.0")
