# Both commands and the page on a slim image, without root. The folder that you work in is mounted at /work:
#   docker build -t neff-bench .
#   docker run --rm -v "$PWD:/work" neff-bench generate --shapes shapes.yaml --out neffs.out
#   docker run --rm -v "$PWD:/work" neff-bench profile neffs.out --output report.html
# The full image has a C compiler, which the core is compiled with.
FROM python:3.13 AS build
COPY . /source
RUN python -m venv /opt/neff-bench && /opt/neff-bench/bin/pip install --no-cache-dir "/source[xla,parquet,history,mcp]"

FROM python:3.13-slim
COPY --from=build /opt/neff-bench /opt/neff-bench
RUN useradd --create-home --uid 1000 bench
ENV PATH=/opt/neff-bench/bin:$PATH
USER 1000
WORKDIR /work
ENTRYPOINT ["neff-bench"]
CMD ["--help"]
