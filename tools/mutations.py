"""The mutations that tools/mutate.py places: one wrong thing each, of the kind that somebody could write by mistake."""

from __future__ import annotations

from tools.mutate import Mutation

GOLDEN = "tests/golden/test_times.py::test_times_are_those_pinned"
CHIPS = "tests/chips/test_chips.py"
LIKENESS = "tests/simulator/timing/test_likeness.py"
INTERVAL = "tests/simulator/timing/test_interval.py"
SCHEDULE = "tests/simulator/timing/test_schedule.py"
COUNTERS = "tests/simulator/timing/test_counters.py"
TRACE = "tests/parsers/test_ntff.py tests/parsers/test_versions.py"
RUNS = "tests/stage2_profile/capture/test_runs.py tests/stage2_profile/test_damage.py"
CHECK = "tests/stage2_profile/metrics/test_check.py"
COMPARE = "tests/stage2_profile/compare"
STORE = "tests/neffs/test_store.py tests/neffs/test_bundle.py"
KEYS = "tests/stage1_generate/jobs/test_keys.py"

MUTATIONS = (
    # chips
    Mutation("trn2 HBM 716 to 616 GB/s", "neff_bench/chips/trn2.py", "hbm_bandwidth=(716.0,", "hbm_bandwidth=(616.0,", GOLDEN),
    Mutation("trn2 weight load 77 to 110 ns", "neff_bench/chips/trn2.py", "load_weights_ns=(77.0,", "load_weights_ns=(110.0,", GOLDEN),
    Mutation("trn3 DMA 38.1 to 27", "neff_bench/chips/trn3.py", "(38.1,", "(27.0,", GOLDEN),
    Mutation("inf2 DMA issue 649 to 349 ns", "neff_bench/chips/inf2.py", " dma_issue_ns=(649.0,", " dma_issue_ns=(349.0,", GOLDEN),
    Mutation("trn2 postamble 1 us longer", "neff_bench/chips/trn2.py", "postamble_ns=1688.0", "postamble_ns=2688.0", GOLDEN),
    Mutation("inf2 postamble 0.1 us shorter", "neff_bench/chips/inf2.py", "postamble_ns=2450.0", "postamble_ns=2350.0", GOLDEN),
    Mutation("trn2 Sync drains longer in the preamble", "neff_bench/chips/trn2.py", "EVENT_SEMAPHORE 11976 1178", "EVENT_SEMAPHORE 11976 178", CHIPS),
    Mutation("trn3 SBUF 256 to 224 KiB", "neff_bench/chips/trn3.py", "256 * 1024", "224 * 1024", CHIPS),
    Mutation("trn2 SBUF 224 to 192 KiB", "neff_bench/chips/trn2.py", "224 * 1024", "192 * 1024", CHIPS),
    Mutation("PSUM bank of 4 KiB", "neff_bench/chips/trn2.py", "psum_bank_bytes=(2048,", "psum_bank_bytes=(4096,", CHIPS),
    Mutation("trn2 semaphore 38 to 48 ns", "neff_bench/chips/trn2.py", "semaphore_ns=(38.0,", "semaphore_ns=(48.0,", GOLDEN),
    Mutation("trn2 throttles at 34 %", "neff_bench/chips/trn2.py", "throttle_utilization=(0.375,", "throttle_utilization=(0.34,", GOLDEN),
    Mutation("trn1 takes the clock of trn2", "neff_bench/chips/trn1.py", "    constants_of=\"inf2\",", "    constants_of=\"inf2\", pe_clock_ghz=(2.4, \"\", \"\"),", GOLDEN),
    Mutation("trn2 bandwidth that profiles report", "neff_bench/chips/trn2.py", "hbm_bandwidth_reported=(716e9,", "hbm_bandwidth_reported=(616e9,", CHIPS),
    Mutation("LNC 2 on inf2", "neff_bench/chips/inf2.py", "max_lnc=(1,", "max_lnc=(2,", CHIPS),
    Mutation("FP8 at the rate of BF16", "neff_bench/chips/dtypes.py", "\"float8_e4m3\": 2.0", "\"float8_e4m3\": 1.0", "tests/stage2_profile/metrics"),
    Mutation("a bfloat16 of four bytes", "neff_bench/chips/dtypes.py", "\"bfloat16\": 2,", "\"bfloat16\": 4,", "tests/neffs/test_dtypes.py"),
    Mutation("GpSimd and Vector change places", "neff_bench/chips/engines.py", "ENGINES: tuple[Engine, ...] = (\"tensor\", \"scalar\", \"gpsimd\", \"vector\"", "ENGINES: tuple[Engine, ...] = (\"tensor\", \"scalar\", \"vector\", \"gpsimd\"", GOLDEN),
    # timing
    Mutation("Scalar's cost with Vector's overhead", "neff_bench/simulator/costs/engines.py", "return busy + getattr(chip, row.interval), (each + added) / chip.scalar_clock_ghz", "return busy + chip.vector_overhead_ns, (each + added) / chip.scalar_clock_ghz", GOLDEN),
    Mutation("uncompared operations weigh as all others", "neff_bench/simulator/timing/interval.py", "(fit.uncompared * like.uncompared) ** 2", "0.0", INTERVAL),
    Mutation("effects are known for certain", "neff_bench/simulator/timing/interval.py", "for n in has for m in has)", "for n in () for m in has)", INTERVAL),
    Mutation("the PE binds from half of the time", "neff_bench/simulator/timing/likeness.py", "_PE_BOUND = 0.75", "_PE_BOUND = 0.5", LIKENESS),
    Mutation("64 partitions at full rate", "neff_bench/simulator/costs/transfers.py", "_ports(instruction, program) if static", "_ports(instruction, program) if False", "tests/simulator/compiler/code/test_descriptors.py"),
    Mutation("the fingerprint forgets the chips", "neff_bench/simulator/timing/model.py", "waiting += [f\"{module}.{inside.stem}\"", "waiting += [f\"{inside.stem}\"", "tests/simulator/timing/test_model.py"),
    Mutation("the fingerprint forgets what is imported by name", "neff_bench/simulator/timing/model.py", "[package, *(", "[package] + 0 * [*(", "tests/simulator/timing/test_model.py"),
    Mutation("a matmul does not fill the array", "neff_bench/simulator/timing/loop.py", "pe_latency + pe_fill * fill", "pe_latency", GOLDEN),
    Mutation("a result is there before its signal", "neff_bench/simulator/timing/loop.py", "done[i] = s + latency[i] + semaphore", "done[i] = s + latency[i]", GOLDEN),
    Mutation("two cores do not share HBM", "neff_bench/simulator/timing/scheduler.py", "x.hbm_write, sharers)", "x.hbm_write, 1)", SCHEDULE),
    Mutation("static reads stall too", "neff_bench/simulator/timing/scheduler.py", "return 0.0 if transfer.static and not is_by_element(transfer, chip) else 1.0", "return 1.0", GOLDEN),
    Mutation("a barrier does not hold up the earlier core", "neff_bench/simulator/timing/loop.py", "    elif mine > theirs:\n        ready[r] = mine", "    elif mine < theirs:\n        ready[r] = mine", SCHEDULE),
    Mutation("Vector pays for no pointer", "neff_bench/simulator/costs/engines.py", "if has_pointer else 0.0", "if False else 0.0", GOLDEN),
    Mutation("strided weights load fast", "neff_bench/simulator/costs/tensor_engine.py", "SIDE_BY_SIDE if weights.unit_stride else STRIDED", "SIDE_BY_SIDE", "tests/simulator/compiler/code/test_lowering.py"),
    Mutation("float32 weights load fast", "neff_bench/simulator/costs/tensor_engine.py", "_FAST_ITEM_BYTES = 2", "_FAST_ITEM_BYTES = 4", GOLDEN),
    Mutation("DMAs that convert cost no more", "neff_bench/simulator/costs/transfers.py", "if transfer.converts else spacing", "if False else spacing", "tests/simulator/costs/test_transfers.py"),
    Mutation("software descriptors need no preparation", "neff_bench/simulator/costs/transfers.py", "return chip.software_dma_prepare_ns + chip.software_dma_start_ns", "return chip.software_dma_start_ns", GOLDEN),
    Mutation("semaphore packets a tenth longer", "neff_bench/simulator/costs/transfers.py", "SEMAPHORE_PACKET_NS = 7.0", "SEMAPHORE_PACKET_NS = 7.7", GOLDEN),
    Mutation("packets a tenth larger", "neff_bench/simulator/costs/transfers.py", "MAX_PACKET_BYTES = 4096", "MAX_PACKET_BYTES = 4506", GOLDEN),
    Mutation("packets of collectives a tenth smaller", "neff_bench/simulator/costs/links.py", "MAX_PACKET_BYTES = 64 << 10", "MAX_PACKET_BYTES = 58 << 10", GOLDEN),
    Mutation("Mesh to 1.1 MiB", "neff_bench/simulator/costs/links.py", "MESH_BELOW_BYTES, RDH_UP_TO_BYTES = 1 << 20, 56 << 20", "MESH_BELOW_BYTES, RDH_UP_TO_BYTES = 1153434, 56 << 20", "tests/simulator/costs/test_links.py"),
    Mutation("RDH to 50 MiB", "neff_bench/simulator/costs/links.py", "MESH_BELOW_BYTES, RDH_UP_TO_BYTES = 1 << 20, 56 << 20", "MESH_BELOW_BYTES, RDH_UP_TO_BYTES = 1 << 20, 50 << 20", "tests/simulator/costs/test_links.py"),
    Mutation("a reciprocal a tenth longer", "neff_bench/simulator/costs/table.py", '*on_vector("reciprocal", 8.0,', '*on_vector("reciprocal", 8.8,', GOLDEN),
    Mutation("NC-v2's tensor_tensor on NC-v3", "neff_bench/simulator/costs/table.py", '*on_vector("tensor_tensor", 1.0, _ROPE,', '*on_vector("tensor_tensor", 2.0, _ROPE,', GOLDEN),
    Mutation("a tenth more for activation_reduce", "neff_bench/simulator/costs/table.py", "64 cycles more than activation\", added_cycles=64.0)", "64 cycles more than activation\", added_cycles=70.4)", GOLDEN),
    Mutation("no operation is uncompared", "neff_bench/simulator/timing/compared.py", "and not compared_with(generation, row)\n        ]", "and False\n        ]", "tests/simulator/timing/test_compared.py"),
    Mutation("operations are named from a fifth on", "neff_bench/simulator/timing/compared.py", "_NAMED_FROM = 0.1", "_NAMED_FROM = 0.2", "tests/simulator/timing/test_compared.py"),
    Mutation("the first fetch a tenth larger", "neff_bench/chips/trn2.py", "4 16384 49 2015", "4 18022 49 2015", CHIPS),
    Mutation("first executions a tenth longer", "neff_bench/chips/inf2.py", "first_execution_ns=1_859_817.0", "first_execution_ns=2_045_799.0", "tests/validation/test_inf2_matmuls.py"),
    Mutation("packets of 8 KiB", "neff_bench/simulator/costs/transfers.py", "MAX_PACKET_BYTES = 4096", "MAX_PACKET_BYTES = 8192", GOLDEN),
    Mutation("PSUM tiles cross banks", "neff_bench/simulator/compiler/code/allocation.py", "(PSUM, chip.psum_partition_bytes, chip.psum_bank_bytes)", "(PSUM, chip.psum_partition_bytes, chip.psum_partition_bytes)", "tests/simulator/compiler/code/test_allocation.py"),
    Mutation("memory is free one instruction early", "neff_bench/simulator/compiler/code/allocation.py", "while ends and ends[0][0] < first:", "while ends and ends[0][0] <= first:", "tests/simulator/compiler/code/test_allocation.py"),
    Mutation("transposes count as useful FLOPs", "neff_bench/simulator/timing/counters.py", "useful = summary[\"hardware_flops\"] - summary[\"transpose_flops\"]", "useful = summary[\"hardware_flops\"]", COUNTERS),
    Mutation("active time is not a union", "neff_bench/simulator/timing/counters.py", "reach = np.maximum.accumulate(end)\n    idle", "reach = end\n    idle", COUNTERS),
    Mutation("peak of one core for two", "neff_bench/simulator/timing/counters.py", "summary[\"total_time\"] * chip.peak_flops * cores", "summary[\"total_time\"] * chip.peak_flops", COUNTERS),
    # execution
    Mutation("erf is clamped at 2", "neff_bench/simulator/machine/activations.py", "np.clip(x, np.float32(-4), np.float32(4))", "np.clip(x, np.float32(-2), np.float32(2))", "tests/simulator/operations/test_activation.py"),
    Mutation("gelu without its half", "neff_bench/simulator/machine/activations.py", "return _HALF * x * (_ONE + erf(x * _SQRT_HALF))", "return x * (_ONE + erf(x * _SQRT_HALF))", "tests/simulator/operations/test_activation.py"),
    Mutation("shuffles ignore 255", "neff_bench/simulator/operations/movement.py", "_UNMODIFIED = 255", "_UNMODIFIED = 254", "tests/simulator/operations/test_movement.py"),
    Mutation("integers saturate", "neff_bench/simulator/machine/operands.py", "if values.dtype.kind in \"iub\":", "if values.dtype.kind in \"b\":", "tests/simulator/operations"),
    Mutation("unwritten memory reads as zero", "neff_bench/simulator/machine/memory.py", "_UNWRITTEN = 0x7FFF", "_UNWRITTEN = 0x0000", "tests/simulator/execution tests/simulator/operations/test_matmul.py"),
    Mutation("negative indices are inside", "neff_bench/simulator/machine/addressing.py", "        valid &= rows >= 0\n", "", "tests/simulator/operations tests/simulator/execution"),
    # readers
    Mutation("DMA engine 15 to 7", "parsers/rows.py", "((which >> 4) & layout.DMA_ENGINE_MASK)", "((which >> 4) & 7)", TRACE),
    Mutation("DMA queue 15 to 7", "parsers/rows.py", "(which & 15).astype(np.uint8)", "(which & 7).astype(np.uint8)", TRACE),
    Mutation("packets of at most 64 KiB", "parsers/rows.py", "(word[ends] & layout.SIZE_MASK)", "(word[ends] & 0xFFFF)", TRACE),
    Mutation("rows of another pass count", "parsers/timeline.py", "inside = (begin >= 0) & clock.known[engine]", "inside = clock.known[engine]", TRACE),
    Mutation("a straddled queue is reported", "parsers/timeline.py", "~straddled[which])", "straddled[which] | True)", TRACE),
    Mutation("DMA ticks of 1 GHz", "parsers/clocks.py", "DMA_TICK_PS = (20_000, 17)", "DMA_TICK_PS = (17_000, 17)", TRACE),
    Mutation("trn2's marker is forgotten", "parsers/clocks.py", "min(opened.values()) - TRN2_MARKER_PS", "min(opened.values())", TRACE),
    Mutation("gaps count as active time", "parsers/records.py", "gaps[gaps > 0]", "gaps[gaps > 10**9]", TRACE),
    Mutation("a session lasts as long as its fastest core", "parsers/session.py", "max(core.time_ps for core in self.cores)", "min(core.time_ps for core in self.cores)", "tests/parsers/test_session.py"),
    # store
    Mutation("publishing without fsync of files", "neffs/store.py", "        for file in files:\n            sync(Path(parent, file))\n", "", STORE),
    Mutation("publishing without fsync of the store", "neffs/store.py", "                sync(self.path)\n", "", STORE),
    Mutation("a file is renamed before it is on the disk", "neff_bench/system/files.py", "            os.fsync(file.fileno())\n", "", "tests/system/test_files.py tests/neffs tests/stage2_profile/capture/test_runs.py"),
    Mutation("a lock without its inode check", "neff_bench/system/lock.py", "(here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)", "True", "tests/system/test_lock.py tests/stage2_profile/capture/test_cores.py"),
    Mutation("a changed file of a bundle passes", "neffs/bundle.py", "wrong_size(bundle.path, files) or wrong_content(bundle.path, files)", "wrong_size(bundle.path, files)", STORE),
    Mutation("files outside of a bundle", "neffs/bundle.py", "or \"..\" in file.split(\"/\")", "", STORE),
    Mutation("a store of another user", "neffs/store.py", "os.geteuid() not in (0, status.st_uid) and status.st_uid != 0", "False", STORE),
    Mutation("the seed is no part of a name", "neffs/case.py", "if self.seed != DEFAULT_SEED:", "if False:", "tests/neffs/test_case.py"),
    # stage 1
    Mutation("the key without tensors.py", "stage1_generate/jobs/keys.py", "                _STAGE / \"jobs\" / \"tensors.py\",\n", "", KEYS),
    Mutation("the key without the simulator", "stage1_generate/jobs/keys.py", "depends[\"simulator\"] = self._closures(()).digest(_COMPILE, without=_not_for(route))", "depends[\"simulator\"] = \"\"", KEYS),
    Mutation("the key without compiler flags", "stage1_generate/jobs/keys.py", " | _set(of_role(\"neff\"))", "", KEYS),
    Mutation("inputs of another seed", "stage1_generate/jobs/tensors.py", "[seed, rank] if rank else seed)", "[seed, rank] if rank else 0)", "tests/stage1_generate/jobs/test_tensors.py"),
    Mutation("references in the dtype of the inputs", "neffs/dtypes.py", "return array if array.dtype.kind in \"iu\" else array.astype(\"float32\", copy=False)", "return array", "tests/stage1_generate/jobs/test_tensors.py"),
    # stage 2
    Mutation("runs of an older model are reused", "stage2_profile/pipeline.py", "record.tool_version != tool.version:", "not record.tool_version:", "tests/stage2_profile/test_neuron_sim.py::test_a_run_of_another_model_is_captured_again"),
    Mutation("an oldest run speaks for a bundle", "stage2_profile/capture/runs.py", "key=order, reverse=True)", "key=order, reverse=False)", RUNS),
    Mutation("a run that was changed is read", "stage2_profile/capture/runs.py", "sha256(data).hexdigest() != run.files[name].sha256", "False", RUNS),
    Mutation("a relative tolerance only", "stage2_profile/metrics/check.py", "distance > atol + rtol * np.abs(ref)", "distance > rtol * np.abs(ref)", CHECK),
    Mutation("outputs that are all zero pass", "stage2_profile/metrics/check.py", "if self.size and not self.out_any and self.ref_any:", "if False:", CHECK),
    Mutation("MFU without the LNC", "neff_bench/chips/chip.py", "return lnc * (self.peak_flops / 1e12)", "return (self.peak_flops / 1e12)", "tests/stage2_profile/metrics"),
    Mutation("MFU as a fraction", "stage2_profile/metrics/derived.py", "return 100 * flops / ", "return flops / ", "tests/stage2_profile/metrics tests/stage2_profile/test_cli.py"),
    Mutation("a gate lets worse rates pass", "stage2_profile/compare/gates.py", "change if better == \"lower\" else -change", "change", COMPARE),
    Mutation("rows of other LNCs are compared", "stage2_profile/compare/comparison.py", "and a[name] != b[name]", "and False", COMPARE),
    Mutation("a bad core is given again", "stage2_profile/capture/cores.py", "if not set(group) & set(self.out)}", "}", "tests/stage2_profile/capture/test_cores.py"),
    Mutation("a core of another LNC", "stage2_profile/capture/environment.py", "{\"lnc\": str(lnc) if has_lnc", "{\"lnc\": \"1\" if has_lnc", "tests/stage2_profile/capture"),
    # experiments and tools
    Mutation("padding is counted once", "neff_bench/experiments/bucketing.py", "1 - real / padded", "real / padded", "tests/experiments/test_bucketing.py"),
    Mutation("files of other contents are gathered", "validation/corpus.py", "== file[\"sha256\"]), None)", "!= \"\"), None)", "tests/validation/test_corpus.py"),
)  # fmt: skip
