# Written into the run directory with its path filled in; README.md says why each line is here.
import os

worker_class = os.environ["WORKER_CLASS"]
wsgi_app = "app:asgi" if worker_class == "uvicorn_worker.UvicornWorker" else "app:wsgi"
workers = 2
threads = 8 if worker_class == "gthread" else 1
backlog = 4096
worker_tmp_dir = "{dir}"
pidfile = "{dir}/gunicorn.pid"
control_socket_disable = True
keepalive = 75
timeout = 120
loglevel = "warning"
accesslog = None
