// One user as Protobuf, JSON or XML: how many bytes that is.
// `encode-user protobuf|json|xml ID NAME ACTIVE` writes it, reads it again and checks what it read.
package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log"
	"os"
	"strconv"

	"google.golang.org/protobuf/proto"

	"ringside/subjects/grpc-go/users"
)

// The user as a program that knows no Protobuf would have it.
type user struct {
	XMLName xml.Name `json:"-" xml:"user"`
	ID      int32    `json:"id" xml:"id"`
	Name    string   `json:"name" xml:"name"`
	Active  bool     `json:"active" xml:"active"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: encode-user protobuf|json|xml ID NAME ACTIVE")
	}
	id, err := strconv.ParseInt(os.Args[2], 10, 32)
	check(err)
	active, err := strconv.ParseBool(os.Args[4])
	check(err)
	one := user{ID: int32(id), Name: os.Args[3], Active: active}
	var encoded []byte
	var again user
	switch os.Args[1] {
	case "protobuf":
		encoded, err = proto.Marshal(&users.User{Id: one.ID, Name: one.Name, Active: one.Active})
		check(err)
		var read users.User
		check(proto.Unmarshal(encoded, &read))
		again = user{ID: read.Id, Name: read.Name, Active: read.Active}
	case "json":
		encoded, err = json.Marshal(one)
		check(err)
		check(json.Unmarshal(encoded, &again))
	case "xml":
		encoded, err = xml.Marshal(one)
		check(err)
		check(xml.Unmarshal(encoded, &again))
	default:
		log.Fatalf("unknown format %q", os.Args[1])
	}
	again.XMLName = xml.Name{}
	if again != one {
		log.Fatalf("%v was read as %v", one, again)
	}
	fmt.Printf("bytes %d\n", len(encoded))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
