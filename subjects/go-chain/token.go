package main

import (
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// The key of a demonstration, known to everybody who reads this.
var tokenKey = []byte("ringside demonstration key: no secret")

var tokens = jwt.NewParser(
	jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
	jwt.WithExpirationRequired(),
	jwt.WithIssuer("ringside"),
)

// allowed checks the signature and the claims of a bearer token (RFC 6750, RFC 7519).
func allowed(authorization string) bool {
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	if !bearer {
		return false
	}
	parsed, err := tokens.ParseWithClaims(token, &jwt.RegisteredClaims{}, key)
	return err == nil && parsed.Valid
}

func key(*jwt.Token) (any, error) {
	return tokenKey, nil
}
