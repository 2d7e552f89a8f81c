package provider

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// TestHostileAnswers: output that another program controls.
func TestHostileAnswers(t *testing.T) {
	const head = `{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image",`
	for name, tt := range map[string]struct {
		answer string
		logins int
	}{
		"no logins":         {head + `"auth":null}`, 0},
		"a login of null":   {head + `"auth":{"q.io:5000":null}}`, 1},
		"an endless number": {head + `"auth":{},"cacheDuration":"` + strings.Repeat("9", 1000) + `h"}`, -1},
		"a negative time":   {head + `"auth":{"q.io:5000":{"username":"u"}},"cacheDuration":"-1h"}`, 1},
		"deep":              {head + `"x":` + strings.Repeat("[", 100_000), -1},
		"two documents":     {head + `"auth":{}}{}`, -1},
		"nothing":           {"", -1},
		"odd places":        {head + `"auth":{"":{"username":"u"},"*":{},"*.*.*.*":{},"%zz":{},"http://":{},"[::1":{},"a..b":{},"/":{},":":{},"q.io:99999999":{}}}`, 0},
	} {
		cfg, _, rec := world(t, one, "cat "+filepath.Join(t.TempDir(), "answer"))
		if err := os.WriteFile(strings.Fields(readLast(t, filepath.Join(cfg.BinDir, "ecr")))[1], []byte(tt.answer), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Lookup(t.Context(), "q.io:5000/x", nil)
		failed := len(tracetest.Events[trace.Log](rec)) > 0
		if failed != (tt.logins < 0) || len(got) != max(0, tt.logins) {
			t.Errorf("%s: %v, and told of: %v", name, got, failed)
		}
	}
}

func readLast(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return lines[len(lines)-1]
}

// TestCacheBound requests more images than are kept.
func TestCacheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache
		for i := range 2 * maxCached {
			c.put("r.io/"+strconv.Itoa(i), "", map[string]image.Login{"r.io": {Username: "u"}}, time.Duration(i+1)*time.Hour)
		}
		if len(c.all) != maxCached {
			t.Errorf("%d answers are kept", len(c.all))
		}
		if _, ok := c.get("r.io/0", ""); ok {
			t.Error("the answer that would not have held much longer is kept")
		}
		if _, ok := c.get("r.io/"+strconv.Itoa(2*maxCached-1), ""); !ok {
			t.Error("the newest answer is not kept")
		}
	})
}
