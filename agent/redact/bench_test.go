package redact

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"
)

// BenchmarkToken is what each pod's token costs.
func BenchmarkToken(b *testing.B) {
	value := token()
	b.ReportAllocs()
	for b.Loop() {
		if newFinder([]string{value}).empty() {
			b.Fatal("nothing to find")
		}
	}
}

// BenchmarkBlank searches a text without secrets, as most are, for those of a pod with a token.
func BenchmarkBlank(b *testing.B) {
	f := newFinder([]string{token()})
	text := strings.Repeat(`{"name":"web","image":"registry.example/web:1.2","command":["sh","-c","exec /bin/server --port 8080"]},`, 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if f.blank(text) != text {
			b.Fatal("found something")
		}
	}
}

func token() string {
	raw := make([]byte, 700)
	_, _ = rand.Read(raw)
	s := base64.RawURLEncoding.EncodeToString(raw)
	return s[:20] + "." + s[20:600] + "." + s[600:]
}
