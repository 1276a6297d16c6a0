// The subjects go-gin, go-gin-default, go-gin-middleware, go-gin-trimmed, go-gin-preencoded and
// go-gin-routes: the same routes on Gin, with nothing or with more in front of them or beside them.
package main

import (
	"flag"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
)

var (
	textType = []string{"text/plain"}
	jsonType = []string{"application/json"}
	hello    = []byte("Hello, World!")
	encoded  = []byte(`{"status":"ok"}`)
	waited   = []byte("waited\n")
	pong     = []byte(`{"message":"pong"}`)
)

func main() {
	middleware := flag.String("middleware", "none", "what every request passes: none, trimmed, default or full")
	preencoded := flag.Bool("preencoded", false, "answer /json with bytes that were encoded once")
	logFile := flag.String("log", "", "where the logger writes; standard output if empty")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: server [-middleware none|trimmed|default|full] [-preencoded] [-log FILE] " +
			"HOST:PORT")
	}
	gin.SetMode(gin.ReleaseMode)
	if *logFile != "" {
		gin.DefaultWriter = nameless(*logFile)
	}
	engine := withMiddleware(*middleware)
	engine.GET("/", func(c *gin.Context) { answer(c, textType, hello) })
	if *preencoded {
		engine.GET("/json", func(c *gin.Context) { answer(c, jsonType, encoded) })
	} else {
		engine.GET("/json", func(c *gin.Context) { encode(c, gin.H{"status": "ok"}) })
	}
	engine.GET("/status", func(c *gin.Context) {
		encode(c, gin.H{"status": "ok", "timestamp": time.Now().Unix()})
	})
	engine.GET("/wait10", func(c *gin.Context) {
		time.Sleep(10 * time.Millisecond)
		answer(c, textType, waited)
	})
	// As a published program has them, which names a charset in the first, and in the second sets
	// what it is too late to set.
	engine.GET("/ping", func(c *gin.Context) {
		c.JSON(200, gin.H{"message": "pong"})
	})
	engine.GET("/ping-written", func(c *gin.Context) {
		c.Writer.WriteHeaderNow()
		c.Status(200)
		c.Header("Content-Type", "application/json")
		c.Writer.Write(pong)
	})
	if matching := os.Getenv("ROUTES"); matching != "" {
		addRoutes(engine, matching)
	}
	log.Fatal(engine.Run(flag.Arg(0)))
}

func withMiddleware(which string) *gin.Engine {
	switch which {
	case "none":
		return gin.New()
	case "trimmed":
		return trimmed()
	case "default":
		return gin.Default()
	case "full":
		return full()
	default:
		log.Fatalf("-middleware %s: none, trimmed, default or full was expected", which)
		return nil
	}
}

func answer(c *gin.Context, contentType []string, body []byte) {
	c.Writer.Header()["Content-Type"] = contentType
	c.Status(http.StatusOK)
	c.Writer.Write(body)
}

// encode writes JSON as c.JSON does, which leaves a content type alone that is there already.
func encode(c *gin.Context, value any) {
	c.Writer.Header()["Content-Type"] = jsonType
	c.JSON(http.StatusOK, value)
}

// nameless opens a file that is gone with the process: a comparison writes gigabytes of log lines.
func nameless(path string) *os.File {
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		log.Fatal(err)
	}
	return file
}
