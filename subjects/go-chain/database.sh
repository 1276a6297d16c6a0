#!/bin/sh
# Makes the files of an empty database in the folder $1, for whoever this is: as another user than
# root its owner cannot be changed, and as root MariaDB wants to be told that this is meant. Its
# temporary tables are beside it: in a common folder another one that starts would remove them.
TMPDIR=$(dirname "$1")
export TMPDIR
exec mariadb-install-db --no-defaults --datadir="$1" --user="$(id -un)" \
    --auth-root-authentication-method=normal --skip-test-db
