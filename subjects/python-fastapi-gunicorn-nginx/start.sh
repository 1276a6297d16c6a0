# Starts Gunicorn on a socket in the run directory, and becomes the nginx in front of it as soon as
# that socket is there: requests wait in it until the workers are up.
set -eu
"$1" -B -m gunicorn --config gunicorn.conf.py --chdir "$2" app:app &
while [ ! -S app.socket ]; do
    kill -0 $!
    sleep 0.1
done
exec nginx -p "$PWD" -c "$PWD/nginx.conf" -e stderr
