# Written into the run directory with its path filled in; README.md says why each line is here.
bind = "unix:{dir}/app.socket"
backlog = 4096
workers = 2
worker_class = "uvicorn_worker.UvicornWorker"
worker_tmp_dir = "{dir}"
pidfile = "{dir}/gunicorn.pid"
control_socket_disable = True
keepalive = 3600
timeout = 120
loglevel = "warning"
accesslog = None
