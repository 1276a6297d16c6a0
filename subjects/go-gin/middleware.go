package main

import (
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
