# The HTTP service. Build it in a checkout: docker build -t rejoinder .
# Run it without a network but the published port: docs/guide/serve.md. Models are in the package, nothing is downloaded.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY src ./src
RUN python -m venv /opt/rejoinder
RUN /opt/rejoinder/bin/python -m pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt '.[serve]'

FROM python:3.12-slim
COPY --from=build /opt/rejoinder /opt/rejoinder
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin rejoinder
USER 10001
ENV PATH=/opt/rejoinder/bin:$PATH PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["/opt/rejoinder/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
# Inside a container the service has to listen on all addresses. Options of `rejoinder serve` may follow the image's name.
ENTRYPOINT ["/opt/rejoinder/bin/rejoinder", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["-m", "default"]
