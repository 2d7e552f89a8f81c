package auth

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// FuzzBearer parses the token of any client's request.
func FuzzBearer(f *testing.F) {
	const prefix = "base64url.bearer.authorization.k8s.io."
	for _, s := range []string{"", "Bearer token", "bearer  token ", "Basic dXNlcg==", "Bearer", "Bearer a b", " Bearer\tx", "Bearer \x00"} {
		for _, p := range []string{"", prefix + "dG9rZW4,v4.channel.k8s.io", prefix + "dG9rZW4", "v4.channel.k8s.io, " + prefix + "dG9rZW4=," + prefix + "b3RoZXI", strings.Repeat(",", 100), prefix} {
			f.Add(s, p, true)
		}
	}
	f.Fuzz(func(t *testing.T, authorization, protocols string, websocket bool) {
		r := &http.Request{Header: http.Header{"Authorization": {authorization}, "Sec-Websocket-Protocol": {protocols}}}
		if websocket {
			r.Header.Set("Upgrade", "WebSocket")
		}
		token, err := bearer(r)
		if err != nil && token != "" {
			t.Fatalf("token %q and error %v", token, err)
		}
		after := r.Header.Get("Sec-Websocket-Protocol")
		if token == "" {
			if after != protocols {
				t.Fatalf("no token, and the protocols became %q", after)
			}
			return
		}
		if token != strings.TrimSpace(token) && after == protocols {
			t.Fatalf("token %q has space around it", token)
		}
		if after == protocols { // it was in the header
			scheme, rest, ok := strings.Cut(strings.TrimSpace(authorization), " ")
			if ok && strings.EqualFold(scheme, "bearer") && strings.TrimSpace(rest) == token {
				return
			}
		}
		if !websocket {
			t.Fatalf("token %q comes from nowhere", token)
		}
		for p := range strings.SplitSeq(after, ",") {
			if strings.HasPrefix(strings.TrimSpace(p), prefix) {
				t.Fatalf("a token stays among the protocols: %q", after)
			}
		}
		if !strings.Contains(protocols, prefix+base64.RawURLEncoding.EncodeToString([]byte(token))) && !decodesTo(protocols, prefix, token) {
			t.Fatalf("token %q comes from nowhere", token)
		}
		if len(after) > len(protocols) {
			t.Fatalf("%q became %q", protocols, after)
		}
	})
}

// decodesTo reports whether one of the protocols is a token in a non-canonical encoding.
func decodesTo(protocols, prefix, token string) bool {
	return slices.ContainsFunc(strings.Split(protocols, ","), func(p string) bool {
		encoded, ok := strings.CutPrefix(strings.TrimSpace(p), prefix)
		raw, err := base64.RawURLEncoding.DecodeString(encoded)
		return ok && err == nil && string(raw) == token
	})
}

// FuzzSubresources compares the subresources of a path with a table by its first part.
func FuzzSubresources(f *testing.F) {
	for _, s := range []string{
		"", "/", "/pods", "/pods/", "/podsx", "/stats/summary", "/metrics/cadvisor", "/logs/", "/containerLogs/a/b/c", "/exec/a/b/c", "/runningpods/", "/healthz/x", "/configz", "/flagz", "/statusz",
		"/checkpoint/a/b/c", "//pods", "/pods/../exec", "/PODS", "/stats\x00", "/allocatedPods",
	} {
		f.Add(s)
	}
	table := map[string][]string{
		"stats": {"stats"}, "metrics": {"metrics"}, "logs": {"log"}, "checkpoint": {"checkpoint"}, "statusz": {"statusz"}, "flagz": {"configz"},
		"pods": {"pods", "proxy"}, "allocatedPods": {"pods", "proxy"}, "runningpods": {"pods", "proxy"}, "healthz": {"healthz", "proxy"}, "configz": {"configz", "proxy"},
	}
	f.Fuzz(func(t *testing.T, path string) {
		want := []string{"proxy"}
		if rest, ok := strings.CutPrefix(path, "/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			if known, ok := table[first]; ok {
				want = known
			}
		}
		if got := Subresources(path); !slices.Equal(got, want) {
			t.Fatalf("%q needs %q, want %q", path, got, want)
		}
	})
}
