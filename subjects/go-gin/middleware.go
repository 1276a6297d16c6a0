package main

import (
	"bufio"
	"strconv"
	"time"

	"github.com/gin-contrib/cors"
	"github.com/gin-contrib/gzip"
	"github.com/gin-contrib/requestid"
	"github.com/gin-contrib/secure"
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// full is what a service collects over the years; README.md says why each part is there.
func full() *gin.Engine {
	engine := gin.New()
	engine.Use(
		gin.Logger(),
		gin.Recovery(),
		requestid.New(),
		measured(),
		secure.New(secure.Config{
			FrameDeny:             true,
			ContentTypeNosniff:    true,
			ContentSecurityPolicy: "default-src 'self'",
			ReferrerPolicy:        "strict-origin-when-cross-origin",
		}),
		cors.Default(),
		gzip.Gzip(gzip.DefaultCompression),
	)
	engine.GET("/metrics", gin.WrapH(promhttp.Handler()))
	return engine
}

// measured counts requests and their times by method, route and status.
func measured() gin.HandlerFunc {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_request_duration_seconds",
		Help: "How long requests took.",
	}, []string{"method", "route", "status"})
	prometheus.MustRegister(seconds)
	return func(c *gin.Context) {
		start := time.Now()
		c.Next()
		status := strconv.Itoa(c.Writer.Status())
		seconds.WithLabelValues(c.Request.Method, c.FullPath(), status).
			Observe(time.Since(start).Seconds())
	}
}

// trimmed keeps what cannot be spared: the recovery from panics, and a line in the log.
func trimmed() *gin.Engine {
	engine := gin.New()
	engine.Use(gin.Recovery(), logged())
	return engine
}

// Lines that wait to be written; with more, requests wait for the log.
const linesWaiting = 4096

// How long a line may wait until it is in the file.
const lineTime = 100 * time.Millisecond

// logged writes a line for each request from a goroutine of its own, many at once.
func logged() gin.HandlerFunc {
	lines := make(chan string, linesWaiting)
	go func() {
		writer := bufio.NewWriterSize(gin.DefaultWriter, 1<<16)
		flush := time.NewTicker(lineTime)
		for {
			select {
			case line := <-lines:
				writer.WriteString(line)
			case <-flush.C:
				writer.Flush()
			}
		}
	}()
	return func(c *gin.Context) {
		start := time.Now()
		c.Next()
		line := start.AppendFormat(make([]byte, 0, 128), time.RFC3339)
		line = append(line, ' ')
		line = strconv.AppendInt(line, int64(c.Writer.Status()), 10)
		line = append(line, ' ')
		line = append(line, time.Since(start).String()...)
		line = append(line, ' ')
		line = append(line, c.ClientIP()...)
		line = append(line, ' ')
		line = append(line, c.Request.Method...)
		line = append(line, ' ')
		line = append(line, c.Request.URL.Path...)
		line = append(line, '\n')
		lines <- string(line)
	}
}
