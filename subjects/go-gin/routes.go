package main

import (
	"fmt"
	"log"
	"regexp"

	"github.com/gin-gonic/gin"
)

// How many routes there are beside the others.
const routes = 1000

// addRoutes adds /route1/items/ID to /route1000/items/ID, each of which answers with its ID. Who
// finds the one that a path is of is told by matching: Gin's tree, which is made at the start, or a
// list that is tried from its beginning, whose patterns are compiled at the start or as they're tried.
func addRoutes(engine *gin.Engine, matching string) {
	switch matching {
	case "tree":
		for number := range routes {
			engine.GET(fmt.Sprintf("/route%d/items/:id", number+1), func(c *gin.Context) {
				answer(c, textType, []byte(c.Param("id")))
			})
		}
	case "compiled":
		var list []*regexp.Regexp
		for _, pattern := range patterns() {
			list = append(list, regexp.MustCompile(pattern))
		}
		engine.NoRoute(func(c *gin.Context) {
			for _, route := range list {
				if answerIfFound(c, route) {
					return
				}
			}
		})
	case "per-request":
		list := patterns()
		engine.NoRoute(func(c *gin.Context) {
			for _, pattern := range list {
				if answerIfFound(c, regexp.MustCompile(pattern)) {
					return
				}
			}
		})
	default:
		log.Fatalf("%s: tree, compiled or per-request was expected", matching)
	}
}

func patterns() []string {
	var list []string
	for number := range routes {
		list = append(list, fmt.Sprintf("^/route%d/items/([^/]+)$", number+1))
	}
	return list
}

func answerIfFound(c *gin.Context, route *regexp.Regexp) bool {
	found := route.FindStringSubmatch(c.Request.URL.Path)
	if found == nil {
		return false
	}
	answer(c, textType, []byte(found[1]))
	return true
}
