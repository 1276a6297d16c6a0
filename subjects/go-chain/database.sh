#!/bin/sh
# Makes the files of an empty database in the folder $1, for whoever this is: as another user than
# root its owner cannot be changed, and as root MariaDB wants to be told that this is meant.
exec mariadb-install-db --no-defaults --datadir="$1" --user="$(id -un)" \
    --auth-root-authentication-method=normal --skip-test-db
