from neff_bench.cli import main

main()
