# Two images:
#   cli      the command line; projects are fetched into its folder /var/lib/dlbench when they are needed
#   project  the same with projects in it, built by their locks, and the embedded model: needs no network any more
# The base is pinned by tag and everything of Python by hash. Where a digest of the base can be looked up, add it.
# What was tried and what was not: docs/containers.md.

FROM python:3.11.13-slim-bookworm AS build
# where packages come from, if not from the usual place; never an address with a password: arguments stay in the history
ARG PIP_INDEX_URL
WORKDIR /build
COPY containers/build.txt containers/cli.txt ./
RUN pip install --no-cache-dir --require-hashes --requirement build.txt \
    && python -m venv /opt/dlbench \
    && /opt/dlbench/bin/pip install --no-cache-dir --require-hashes --requirement cli.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY benchmark benchmark
COPY training training
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir wheels . \
    && /opt/dlbench/bin/pip install --no-cache-dir --no-deps --no-index wheels/*.whl

FROM python:3.11.13-slim-bookworm AS cli
# Debian has one version of a package in a release, and the base's tag says which release
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin dlbench \
    && install --directory --owner=dlbench --group=dlbench /var/lib/dlbench /runs
COPY --from=build /opt/dlbench /opt/dlbench
ENV PATH=/opt/dlbench/bin:$PATH DLBENCH_HOME=/var/lib/dlbench
USER 10001:10001
WORKDIR /runs
ENTRYPOINT ["dlbench"]
CMD ["--help"]

FROM cli AS project
ARG PIP_INDEX_URL
# which projects: options of `dlbench prepare`
ARG CHOICE="--split demo"
# hadolint ignore=SC2086
RUN dlbench prepare ${CHOICE} \
    && python -c "from dlbench.generation.embedded import weights; weights(print)"
