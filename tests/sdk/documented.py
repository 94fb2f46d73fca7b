"""What AWS's pages and AWS's own code show of the SDK, release by release, written down apart from `sdk/releases/`.

The contract must agree with all of it, and holds nothing that is not shown here: `test_contract.py` deletes every entry of it.
"""

from __future__ import annotations

CALLS = (  # the words after the tool; the tools that take them; the first and the last release, None: no end
    ("capture -n file.neff -s profile.ntff", "neuron-explorer neuron-profile", "2.28", None),
    ("capture --neff file.neff --session-file=profile.ntff", "neuron-explorer neuron-profile", "2.28", None),
    ("capture --save-output --neff file.neff --write-tensors-per-exec alias --num-exec=10 --profile-nth-exec=10 --save-nth-output=10 x x.bin", "neuron-explorer neuron-profile", "2.28", None),
    ("capture --neff file.neff --collectives-workers-per-node=4 --collectives-profile-id=all", "neuron-explorer neuron-profile", "2.28", None),
    ("capture -r 4 -i 0 -m ranks.txt -n file.neff --collectives-worker-count=8 --collectives-worker-start-id 4", "neuron-explorer neuron-profile", "2.28", None),
    ("capture --multi-input ranks.txt --enable-dge-notifs --ignore-exec-errors", "neuron-explorer neuron-profile", "2.28", None),
    ("capture -n file.neff --single-io", "neuron-explorer neuron-profile", "2.28", None),
    ("capture -n file.neff --save-output-npy", "neuron-explorer neuron-profile", "2.28", None),
    ("capture --disable-profile --save-output --num-exec=1 --profile-nth-exec=0", "neuron-explorer neuron-profile", "2.28", None),
    ("capture --io-from runtime", "neuron-explorer", "2.31", None),
    ("capture -t systrace --systrace-get-event-types", "neuron-explorer", "2.32", None),
    ("capture --capture-type=systrace --systrace-event-filter hardware", "neuron-explorer", "2.32", None),
    ("capture --exec-mode async", "neuron-explorer", "2.32", None),
    ("capture --single-io --single-io-threshold 4096", "neuron-explorer", "2.32", None),
    ("capture --num-exec 3 --check-output-determinism", "neuron-explorer", "2.32", None),
    ("view -n file.neff -s profile.ntff --output-format=summary-json", "neuron-explorer neuron-profile", "2.28", None),
    ("view -n file.neff -s profile.ntff --output-format summary-text", "neuron-explorer neuron-profile", "2.28", None),
    ("view -n file.neff -s profile.ntff --output-format=perfetto --output-file=x.pftrace", "neuron-explorer neuron-profile", "2.28", None),
    ("view --neff-path file.neff --session-file profile.ntff --output-format json --output-file=whole.json", "neuron-explorer neuron-profile", "2.28", "2.33"),
    ("view -n file.neff -s profile.ntff --output-format=parquet --output-file=tables --ingest-only", "neuron-explorer", "2.28", None),
    ("view -n file.neff -s profile.ntff --output-format=db --db-endpoint http://localhost:8086", "neuron-profile", "2.28", None),
    ("view -n file.neff -s profile.ntff --output-format=json --enable-memory-tracker --show-perfetto-flows --terminology", "neuron-profile", "2.28", None),
    ("view -n file.neff -s profile.ntff --output-format=summary-text --ignore-device-profile --data-path work --disable-ui", "neuron-explorer", "2.28", None),
    ("view -d session --output-format=summary-text --ingest-only --display-name mine", "neuron-explorer neuron-profile", "2.28", None),
    ("view --session-dir session --output-format=summary-text --ignore-device-profile", "neuron-explorer neuron-profile", "2.28", None),
    ("show-session -s profile.ntff --show-errors -j", "neuron-explorer neuron-profile", "2.28", None),
    ("show-session -s profile.ntff -e", "neuron-explorer neuron-profile", "2.28", None),
    ("--version", "neuron-explorer neuron-profile neuron-ls neuronx-cc", "2.28", None),
    ("-v", "neuron-explorer neuron-profile", "2.28", None),
    ("--show-profile-schema", "neuron-explorer", "2.31", "2.32"),
    ("view --show-profile-schema --output-format=summary-text", "neuron-explorer", "2.33", None),
    ("--json-output", "neuron-ls", "2.28", "2.33"),
    ("-j", "neuron-ls", "2.28", "2.33"),
    ("--output-format json", "neuron-ls", "2.34", None),
    ("compile --framework XLA model.hlo --target trn2 --output file.neff --lnc 2", "neuronx-cc", "2.28", None),
    ("compile model.hlo --framework=XLA --target=trn3 -O1 --logical-nc-config=1", "neuronx-cc", "2.28", None),
    ("compile model.hlo --model-type transformer --auto-cast matmult --auto-cast-type bf16 --optlevel 3", "neuronx-cc", "2.28", None),
    ("compile model.hlo --distribution-strategy llm-training --enable-mixed-precision-accumulation", "neuronx-cc", "2.28", None),
    ("compile model.hlo --disable-mixed-precision-accumulation --enable-saturate-infinity --enable-fast-context-switch", "neuronx-cc", "2.28", None),
    ("compile model.hlo --enable-fast-loading-neuron-binaries --logfile log.txt --verbose info", "neuronx-cc", "2.28", None),
    ("compile model.hlo -lnc 1", "neuronx-cc", "2.28", None),
    ("compile model.hlo --hbm-scratchpad-page-size=1024 --disable-dge", "neuronx-cc", "2.28", None),
    ("compile model.hlo --pipeline compile SaveTemps --internal-tensorizer-opt-level=2", "neuronx-cc", "2.28", None),
    ("compile model.hlo --native-int64 enabled --implicit-integer-downcast all", "neuronx-cc", "2.32", None),
)  # fmt: skip
SURE = {  # what a page first shows in a release, or only announces: how sure it is from then on
    ("2.31", "+"): "neuron-explorer view flags --display-name",
    ("2.32", "+"): "neuron-explorer capture flags --disable-profile",
    ("2.34", "?"): "neuron-explorer view formats summary-json",
}
WRITTEN = (  # the words that AWS's harness writes, and that we write for the same
    "capture --save-output --neff file.neff --write-tensors-per-exec alias --num-exec=10 --profile-nth-exec=10 --save-nth-output=10 --single-io --enable-dge-notifs x x.bin",
    "show-session -s profile.ntff --show-errors -j",
    "view -n file.neff -s profile.ntff --output-format=summary-json",
)
COMPILED = "compile --framework XLA model/graph.hlo --target trn2 --output graph.neff --lnc 2"
NEVER = (
    "capture --nc-idx 0",
    "view --no-such-flag",
    "show-session --json",
    "analyze",
    "compile --framework TVM model.hlo",
)
TOOLS = {
    "neuron-explorer": ("2.28", None),
    "neuron-profile": ("2.28", "2.29"),
    "neuron-ls": ("2.28", None),
    "neuronx-cc": ("2.28", None),
}

FILES = (  # what a capture leaves beside its inputs
    ("capture -n file.neff", "profile.ntff"),
    ("capture -n file.neff -s base.ntff --num-exec=3", "base.ntff base_exec_2.ntff base_exec_3.ntff"),
    ("capture -n file.neff --num-exec=10 --profile-nth-exec=10", "profile_exec_10.ntff"),
    ("capture -n file.neff --profile-nth-exec=2", "profile_exec_2.ntff"),
    ("capture -n file.neff -r 2", "profile_rank_0.ntff profile_rank_1.ntff"),
    ("capture -n file.neff -r 4 -i 3", "profile_rank_3.ntff"),
    ("capture -n file.neff -r 2 -i 0 --num-exec=2", "profile_rank_0.ntff profile_rank_0_exec_2.ntff"),
    ("capture -n file.neff --disable-profile --save-output", "out"),
    ("capture -n file.neff --num-exec=2 --profile-nth-exec=2 --save-output", "profile_exec_2.ntff out out.2"),
    ("capture -n file.neff --profile-nth-exec=0 -r 2 --save-output", "output_worker_0/out output_worker_1/out"),
)

ERROR = "2025-Nov-01 10:00:00.000000 516278:516289 ERROR  "
LINES = (  # a line of a log, the message that it is, who has to act
    (ERROR + "TDRV:exec_request_process_errors  (FATAL-RT-UNDEFINED-STATE) [ND 0][NC 0] Uncorrectable memory error is detected, metadata: 0x16. Please terminate or stop/start this instance to prevent future impact", "SRAM error", "host"),
    (ERROR + "TDRV:x  (FATAL-RT-UNDEFINED-STATE) Uncorrectable HBM memory error is detected. Execution results may be invalid. Please terminate this instance to prevent", "HBM error", "host"),
    (ERROR + "TDRV:x  (FATAL-RT-UNDEFINED-STATE) Uncorrectable HBM memory error is detected. Execution results may be invalid. Please reload the neuron driver or reboot your EC2 instance to", "HBM error until a reload", "device"),
    ("[1.0] NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0 hostname=ip-0 nd-id=0 nc-id=0 serial-num=0 action=TERMINATE_INSTANCE", "hardware error in dmesg", "host"),
    (ERROR + "TDRV:x  [MLA 0][NC 0] DMA TX engine 0 is in an abort state", "DMA abort", "host"),
    (ERROR + "TDRV:x  [MLA 0][NC 0] DMA RX engine 0 is in an abort state", "DMA abort", "host"),
    (ERROR + "TDRV:x  [ND 1][NC 0] execution timeout (30000 ms) on model x.neff, potentially caused by DGE notifications enabled. Please disable it (set NEURON_RT_ENABLE_DGE_NOTIFICATIONS to 0)", "DGE notification overflow", "transient"),
    (ERROR + "TDRV:x  [ND 1][NC 4] execution on model x.neff, is stuck after all collectives operation have completed", "hang in a collective", "core"),
    ("nd0 nc0 Timestamp program stop timeout (1000 ms)", "device left running", "device"),
    ("TDRV not initialized", "device left running", "device"),
    ("Failed to initialize devices, error:5", "device left running", "device"),
    ("GPSIMD EXCEPTION OCCURRED: ILLEGAL INSTRUCTION", "GpSimd exception", "core"),
    (ERROR + "TDRV:x  (FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device 0 NC 0, model 0 - suspected hang in collectives operation 0 out of 100", "hang in a collective", "core"),
    (ERROR + "TDRV:x  (FATAL-RT-UNDEFINED-STATE) execution timeout (30000 ms) on Neuron Device 0 NC 0, model x.neff, waiting for execution completion notification", "hang", "core"),
    (ERROR + "TDRV:exec_consume_infer_status_notifications (FATAL-RT-UNDEFINED-STATE) inference timeout (600000 ms) on Neuron Device 0 NC 0, waiting for execution completion notification", "hang", "core"),
    (ERROR + "TDRV:exec_consume_tpb_status_notifications   Missing infer_status notification: (end:1)", "hang", "core"),
    (ERROR + "NRT:nrt_allocate_neuron_cores               NeuronCore(s) not available - Requested:nc1-nc1 Available:0", "core busy", "transient"),
    (ERROR + "NRT:nrt_allocate_neuron_cores  Logical Neuron Core(s) not available - Requested:lnc1-lnc1 Available:0 Logical Core size:2 (cores busy, ret=-16)", "core busy", "transient"),
    (ERROR + "TDRV:log_dev_mem                             Failed to allocate 4.000GB (alignment: none, usage: tensors) on ND 0:NC 4", "out of device memory", "transient"),
    ("kernel: [1] neuron:mc_alloc: device mempool [0:0] total 1073741568 occupied 960539030 needed 1272 available 768", "out of device memory", "transient"),
    ("RX, connection closed by remote peer", "connection to a rank lost", "transient"),
    ("NTFF version 4 is not supported in this version of the tool (supported: 1 - 3). Please upgrade aws-neuronx-tools.", "NTFF version", "user"),
    ("ERROR_PROCESS_INCOMPLETE", "profile incomplete", "user"),
    ("Invalid value `json' for option `--output-format'. Allowed values are: summary-json, summary-text, parquet or perfetto", "format gone", "user"),
    ("unknown flag `save-nth-output'", "unknown flag", "user"),
    ("unknown flag: --save-nth-output", "unknown flag", "user"),
    ("flag provided but not defined: -save-nth-output", "unknown flag", "user"),
    ("neuron-explorer capture: error: unrecognized arguments: --save-nth-output=2", "unknown flag", "user"),
    ("neuron-explorer: unrecognized option '--save-nth-output=2'", "unknown flag", "user"),
    ("Error: No such option: --save-nth-output", "unknown flag", "user"),
    (ERROR + "TDRV:db_vtpb_get_mla_and_tpb                 Could not find VNC id n", "LNC", "user"),
    (ERROR + "NMGR:kmgr_load_nn_post_metrics               Failed to load NN: x, err: 2", "LNC", "user"),
    ("Logical NC not available 8/4", "LNC", "user"),
    (ERROR + "TDRV:tdrv_init_mla_phase1                    Could not open the nd1", "cores not there", "user"),
    (ERROR + "NRT:nrt_allocate_neuron_cores               Neuron cores are not contiguous", "cores not there", "user"),
    (ERROR + "NRT:nrt_init      Unable to determine Neuron Driver version. Please check aws-neuron-dkms package is installed.", "no driver", "user"),
    (ERROR + "TDRV:tdrv_get_dev_info                       No neuron device available", "no driver", "user"),
    (ERROR + "NRT:nrt_init      This runtime requires Neuron Driver version 2.0 or greater. Please upgrade aws-neuron-dkms package.", "driver too old", "user"),
    ("This Neuron Runtime (compatibility id: X) is not compatible with the installed aws-neuron-dkms package", "driver too old", "user"),
    (ERROR + "HAL:aws_hal_tpb_pooling_write_profile       failed programming the engine", "driver too old", "user"),
    ("Loading a NEFF compiled for a different arch is not allowed, NEFF arch: v3, instance arch: v2", "other architecture", "user"),
    ("NEFF version mismatch supported: 1.1 received: 2.0", "NEFF version", "user"),
    ("NEFF version: 2.0, features: 0x100 are not supported.  Currently supporting: 0x80000000000000ff", "NEFF version", "user"),
    (ERROR + "TDRV:translate_one_pseudo_instr_v2           Unsupported hardware operator code 214 found in neff.", "unsupported operator", "user"),
    (ERROR + "TDRV:generate_custom_notification_msg        nd0:nc0:h_model.id1107: Received notification generated at runtime: failed to run embedding table update, due to out-of-bound access.", "out of bounds", "user"),
    (ERROR + "TDRV:generate_custom_notification_msg        nd0:nc1:h_model.id1109: Received notification generated at runtime: failed to run scatter/gather (indirect memory copy), due to out-of-bound access.", "out of bounds", "user"),
    (ERROR + "TDRV:exec_wait_round_robin                   [ND 0][NC 0] Out of bounds access on model file.neff", "out of bounds", "user"),
    (ERROR + "NMGR:dlr_infer  Inference completed with err: 1006. mode->h_nn=1001, lnc=0", "out of bounds", "user"),
    ("nrtd[1]: Error notifications found on NC 0 INFER_ERROR_SUBTYPE_NUMERICAL", "NaN", "user"),
    ("completed with numerical error (NaN)", "NaN", "user"),
    ("NCCL init error: Error opening libnccom.so, cannot use collective operations! Please set LD_LIBRARY_PATH to library location.", "no collectives", "user"),
    ("Unable to run multi-instance workload.  Ofi plugin is not installed or EFA is not enabled", "no collectives", "user"),
    ("OFI plugin initNet() failed is EFA enabled?", "no collectives", "user"),
    ("Linux kernel 5.10 requires setting FI_EFA_FORK_SAFE=1 environment variable.  Multi-node support will be disabled.", "no collectives", "user"),
    ("No interface found in the same subnet as remote address fe80::1<45015>", "no way to the other ranks", "user"),
    ("No usable listening interface found", "no way to the other ranks", "user"),
    ("WARN Invalid NCCL_COMM_ID [a:1], please use format: <ipv4>:<port> or [<ipv6>]:<port>", "no way to the other ranks", "user"),
    ("RuntimeError: module compiled against API version 0xf but this version of numpy is 0xe", "numpy of another version", "user"),
    ("failed to save output output_hbm to file: unsupported type for npy output: bfloat16", "output format of a tensor", "user"),
    ("Timeout waiting for RX (waited 120 sec) - retrying", "waits for other ranks", "none"),
    ("Timeout waiting for incoming connection (waited 120 sec) - retrying", "waits for other ranks", "none"),
    ("Connect to localhost:33666 failed - retrying", "waits for other ranks", "none"),
    ("[2.9] efa 0000:a0:1a.0 rdmap160s26: Failed to process command DEREG_MR (opcode 8) comp_status 7 err -22", "clean-up of EFA", "none"),
    ("neuron-profile exited with an error.", "end of the tool", "none"),
    ("neuron-profile 2.29.22.0%kaena-tools/2.29@b486b0a built on 2026-04-29T00:46:08Z", "end of the tool", "none"),
    ("ERRO[0012] Unable to process node with uid 0 for exec 6", "node left out of a profile", "none"),
    ("ERRO[0110] invalid DMA duration - transfer rate is invalid", "node left out of a profile", "none"),
    ('ERRO[0183] Unable to convertToInt64. Cannot convert empty string "" to int64 for field ModelId.', "node left out of a profile", "none"),
)  # fmt: skip

NEW_LINES = (  # and the release that they come with
    ("NRT Error NRT_FAILURE(6): Failed to load model", "other architecture, by nrtpy", "user", "2.32"),
    ("ImportError: libnrt.so.1: cannot open shared object file: No such file or directory", "no runtime library", "user", "2.32"),
)  # fmt: skip

STATUSES = {  # nrt_status.h: the number, and who has to act
    "NRT_FAILURE": (1, "unknown"),
    "NRT_INVALID": (2, "user"),
    "NRT_INVALID_HANDLE": (3, "user"),
    "NRT_RESOURCE": (4, "transient"),
    "NRT_TIMEOUT": (5, "core"),
    "NRT_HW_ERROR": (6, "core"),
    "NRT_QUEUE_FULL": (7, "transient"),
    "NRT_LOAD_NOT_ENOUGH_NC": (9, "transient"),
    "NRT_UNSUPPORTED_NEFF_VERSION": (10, "user"),
    "NRT_FAIL_HOST_MEM_ALLOC": (11, "transient"),
    "NRT_UNINITIALIZED": (13, "user"),
    "NRT_CLOSED": (14, "user"),
    "NRT_QUEUE_EMPTY": (15, "user"),
    "NRT_EXEC_UNIT_UNRECOVERABLE": (101, "core"),
    "NRT_EXEC_BAD_INPUT": (1002, "user"),
    "NRT_EXEC_COMPLETED_WITH_NUM_ERR": (1003, "user"),
    "NRT_EXEC_COMPLETED_WITH_ERR": (1004, "core"),
    "NRT_EXEC_NC_BUSY": (1005, "transient"),
    "NRT_EXEC_OOB": (1006, "user"),
    "NRT_COLL_PENDING": (1100, "transient"),
    "NRT_EXEC_HW_ERR_COLLECTIVES": (1200, "core"),
    "NRT_EXEC_HW_ERR_HBM_UE": (1201, "host"),
    "NRT_EXEC_HW_ERR_NC_UE": (1202, "host"),
    "NRT_EXEC_HW_ERR_DMA_ABORT": (1203, "host"),
    "NRT_EXEC_SW_NQ_OVERFLOW": (1204, "transient"),
    "NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE": (1205, "device"),
    "NRT_NETWORK_PROXY_FAILURE": (1206, "transient"),
}

NEFF, MEASUREMENT, UNSET = "neff", "measurement", "unset"
VARIABLES = {  # role, first release, last release
    **dict.fromkeys(
        "NEURON_CC_FLAGS NKI_DEBUG_INFO NEURON_FRAMEWORK_DEBUG NEURON_FUSE_SOFTMAX XLA_DOWNCAST_BF16 XLA_USE_BF16 XLA_HLO_DEBUG "
        "XLA_IR_DEBUG".split(),
        (NEFF, "2.28", None),
    ),
    **dict.fromkeys(
        "NEURON_PLATFORM_TARGET_OVERRIDE NEURON_LOGICAL_NC_CONFIG NEURON_RT_VISIBLE_CORES NEURON_RT_RESET_CORES "
        "NEURON_RT_ENABLE_DGE_NOTIFICATIONS NEURON_RT_ENABLE_OCP NEURON_RT_ENABLE_OCP_SATURATION NEURON_RT_STOCHASTIC_ROUNDING_EN "
        "NEURON_RT_STOCHASTIC_ROUNDING_SEED NEURON_RT_DBG_DMA_PACKETIZATION_SIZE NEURON_RT_EXEC_TIMEOUT NEURON_RT_ALLOW_LEGACY_NEFF "
        "NEURON_RT_LOG_LEVEL NEURON_RT_PROFILE_BUF_DMA_MB NEURON_RT_PROFILE_BUF_EVENT_MB NEURON_SCRATCHPAD_PAGE_SIZE".split(),
        (MEASUREMENT, "2.28", None),
    ),
    "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": (MEASUREMENT, "2.28", "2.31"),
    "NEURON_RT_NUM_CORES": (UNSET, "2.28", None),
    "NEURON_RT_INSPECT_ENABLE": (UNSET, "2.28", None),
    "NKI_ARTIFACTS_DIR": (UNSET, "2.28", None),
    "NKI_SIMULATOR": (UNSET, "2.29", None),
    "NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE": (NEFF, "2.30", None),
    "NEURON_RT_CONTIGUOUS_SCRATCHPAD": (MEASUREMENT, "2.31", None),
    "NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG": (UNSET, "2.31", None),
    "NKI_COMPILER_FRONTEND": (NEFF, "2.32", None),
    "NKI_USE_COLZ": (NEFF, "2.32", None),
    "NKI_ENABLE_TRACE_CACHE": (MEASUREMENT, "2.32", None),
    "NKI_PREFETCH_RING_SIZE": (NEFF, "2.33", None),
}

SETTINGS = {  # variable: what a compilation and a capture get where the user says nothing; target trn2, LNC 2, core 3
    "compile": {"NEURON_PLATFORM_TARGET_OVERRIDE": "trn2", "NEURON_LOGICAL_NC_CONFIG": "2"},
    "capture": {
        "NEURON_LOGICAL_NC_CONFIG": "2",
        "NEURON_RT_VISIBLE_CORES": "3",
        "NEURON_RT_RESET_CORES": "1",
        "NEURON_RT_ENABLE_OCP": "1",
        "NEURON_RT_ENABLE_OCP_SATURATION": "1",
    },
}
LINES_BY = {"NKI_DEBUG_INFO": "1", "XLA_HLO_DEBUG": "1", "XLA_IR_DEBUG": "1"}
TAKEN_AWAY = {  # and what each loses
    "compile": {"NKI_ARTIFACTS_DIR": "2.28", "NKI_SIMULATOR": "2.29"},
    "capture": {
        "NEURON_RT_NUM_CORES": "2.28",
        "NEURON_RT_INSPECT_ENABLE": "2.28",
        "NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG": "2.31",
    },
}

VERSIONS = {  # release-notes/components: tools, nki, compiler, runtime, driver, Parquet schema
    "2.28": ("2.28", "0.2.0", None, "2.30.50", "2.26.5", None),
    "2.29": ("2.29", "0.3.0", "2.24.5133", "2.31.24", "2.26.10", None),
    "2.30": ("2.30", "0.4.0", "2.25.3371", "2.32.31", "2.28.0", None),
    "2.31": ("2.31", "0.5.0", "2.26.6360", "2.33.10", "2.29.0", "7.4.0"),
    "2.32": ("2.32", "0.6.0", "2.27.5334", "2.34.10", "2.30.2", "7.4.0"),
    "2.33": ("2.33", "0.7.0", "2.28.7631", "2.35.30", "2.31.7", "12.0.1"),
    "2.34": ("2.34", "0.8", None, None, None, "12.0.1"),
}
COMPILER_ERRORS = (  # compiler/error-codes: the first release whose page is read, what is wrong, its codes
    ("2.32", "LNC", "EARG001"),
    ("2.32", "too many instructions", "EBVF030 EVRF007 EXTP004"),
    ("2.32", "out of HBM", "EOOM001 EOOM002 EVRF009 EXSP001"),
    ("2.32", "operator", "EUOC002 EVRF001"),
    ("2.32", "dtype", "ESPP004 ESPP047 EVRF004 EVRF005"),
    ("2.32", "float8_e4m3fn", "EVRF051"),
    ("2.32", "integers", "ESFH002 EVRF022 EVRF035 EVRF060 EVRF061 EVRF062 EVRF063"),
    ("2.32", "dynamic shape", "EMOD025"),
    ("2.32", "custom call", "EHCA005 EVRF015"),
    ("2.32", "version of NKI", "EVRF065"),
    ("2.33", "LNC of a kernel", "EVRF066"),
)
TARGETS = ("2.32", ["trn1", "inf2", "trn2", "trn3"])
NEEDS_DRIVER = ("2.30", "2.27")
NOTES = (
    ("2.31", "code generator"),
    ("2.32", "20 us"),
    ("2.33", "warnings on the console"),
    ("2.33", "ends with this release"),
    ("2.33", "2.33.1 of 2026-11-11"),
    ("2.33", "PyTorch is TorchNeuron"),
)
PACKAGES = {
    "neuronx-cc": ("neuronxcc", "starfish"),
    "nki": ("nki", "isa"),
    "torch-neuronx": ("torch_neuronx", "xla_impl"),
    "libneuronxla": ("libneuronxla", "neuron_cc_wrapper"),
}
OPTIONS_0_3 = ("nki.compiler.ncc_driver:CompileOptions", "target lnc output_path artifacts_dir neuronx_cc_args=")
OPTIONS = ("nki.compiler.ncc_driver:CompileOptions", "target= lnc= output_path= artifacts_dir= neuronx_cc_args=")
FINISH = (
    "nki.compiler.ncc_driver:compile_bir_to_neff",
    "compile_opts bir input_arrays argument_names output_arg_names",
)
TO_NIR = (
    "nki.framework.compiled:compile_kernel_to_nir",
    "kernel_func * inputs compile_opts frontend= enable_cache= trace_cache=",
)
INTERFACES = (  # name, first and last release, functions
    ("nki_standalone", "2.28", "2.28", [("neuronxcc.nki_standalone:compile_nki_ir_kernel_to_neff", "kernel_func kernel_inputs_dict kernel_outputs platform_target logical_nc_config output_directory version additional_compiler_args= enable_device_dump=")]),
    ("ParserFrontend", "2.29", "2.29", [("nki.compiler.frontend:ParserFrontend.compile", "self kernel_func inputs target lnc= artifacts_dir= dump_python_ast= output_names="), ("nki.compiler.ncc_driver:CompiledKernel.from_frontend", "result compile_opts"), OPTIONS_0_3]),
    ("compile_to_bir", "2.30", None, [("nki.compiler.driver:compile_to_bir", "kernel_func * frontend inputs compile_opts output_names="), ("nki.compiler.frontend:ParserFrontend", ""), FINISH, OPTIONS]),
    ("compile_kernel_to_nir", "2.31", None, [TO_NIR, FINISH, OPTIONS]),
    ("compile_bir_with_inputs", "2.32", None, [TO_NIR, ("nki.compiler.driver:_compile_bir_to_neff", "nir opts inputs"), OPTIONS]),
)  # fmt: skip
PYTHON = (  # package, first release, functions
    ("torch_neuronx", "2.28", {"torch_neuronx:trace": "func example_inputs *_ input_output_aliases= compiler_workdir= compiler_args= partitioner_config= inline_weights_to_neff= cpu_backend="}),
    ("nrtpy", "2.32", {
        "nrtpy:configure": "visible_cores=",
        "nrtpy:reset": "",
        "nrtpy:NrtpyModel.load_from_neff": "neff_path name= core_id= cc_enabled= rank_id= world_size=",
        "nrtpy:NrtpyModel.__call__": "self inputs outputs= save_trace= ntff_name=",
        "nrtpy:NrtpyModel.benchmark": "self inputs outputs= warmup_iter= benchmark_iter= mode=",
        "nrtpy:NrtpyTensor.from_numpy": "array name= core_id=",
        "nrtpy:NrtpyTensor.write_from_numpy": "self array",
        "nrtpy:NrtpyTensor.numpy": "self",
    }),
)  # fmt: skip
LNC_BY = (("launch grid", "2.28", "2.32"), ("environment", "2.33", None))
DEFAULTS = {  # tool, subcommand, flag: what the tool takes without it
    "neuron-explorer": {
        "capture": {
            "--neff": "file.neff",
            "--session-file": "profile.ntff",
            "--num-exec": "1",
            "--profile-nth-exec": "1",
            "--collectives-worker-start-id": "0",
            "--collectives-profile-id": "all",
            "--io-from": "neff",
            "--capture-type": "profile",
            "--exec-mode": "sync",
            "--single-io-threshold": "0",
            "--systrace-event-filter": "all",
        },
    },
    "neuron-profile": {"view": {"--db-endpoint": "http://localhost:8086"}},
    "neuronx-cc": {
        "compile": {
            "--output": "file.neff",
            "--model-type": "generic",
            "--auto-cast": "none",
            "--auto-cast-type": "bf16",
            "--optlevel": "2",
            "--logfile": "log-neuron-cc.txt",
            "--verbose": "warning",
            "--native-int64": "default",
            "--implicit-integer-downcast": "default",
        },
    },
}
DEFAULTS["neuron-profile"]["capture"] = {
    flag: value
    for flag, value in DEFAULTS["neuron-explorer"]["capture"].items()
    if flag not in ("--io-from", "--capture-type", "--exec-mode", "--single-io-threshold", "--systrace-event-filter")
}
