// A thousand rows into a table of MariaDB: one statement for each, or one for all.
// `insert one|batch ADDRESS`
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"strings"

	_ "github.com/go-sql-driver/mysql"
)

const rows = 1000

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: insert one|batch ADDRESS")
	}
	// Values go into the text of a statement on this side: one round trip for each statement.
	source := fmt.Sprintf("root@tcp(%s)/?interpolateParams=true", os.Args[2])
	database, err := sql.Open("mysql", source)
	check(err)
	defer database.Close()
	database.SetMaxOpenConns(1)
	// Only the first run finds no table; emptying it each time would be timed with the rest.
	run(database, "CREATE DATABASE IF NOT EXISTS lab")
	run(database, "CREATE TABLE IF NOT EXISTS lab.readings (id INT PRIMARY KEY AUTO_INCREMENT, "+
		"device VARCHAR(32) NOT NULL, value DOUBLE NOT NULL)")
	before := count(database)
	if os.Args[1] == "one" {
		for row := range rows {
			run(database, "INSERT INTO lab.readings (device, value) VALUES (?, ?)", values(row)...)
		}
	} else {
		places := strings.Repeat("(?, ?), ", rows-1) + "(?, ?)"
		var all []any
		for row := range rows {
			all = append(all, values(row)...)
		}
		run(database, "INSERT INTO lab.readings (device, value) VALUES "+places, all...)
	}
	fmt.Printf("rows %d\n", count(database)-before)
}

func count(database *sql.DB) (count int) {
	check(database.QueryRow("SELECT COUNT(*) FROM lab.readings").Scan(&count))
	return count
}

func values(row int) []any {
	return []any{fmt.Sprintf("device-%04d", row), float64(row) / 4}
}

func run(database *sql.DB, statement string, values ...any) {
	_, err := database.Exec(statement, values...)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
