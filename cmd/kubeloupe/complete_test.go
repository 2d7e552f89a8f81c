//go:build unix

package main

import (
	"bytes"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestCompletionOfStuckAgent has a shell ask for the pods of an agent that accepts no connection, or answers nothing.
func TestCompletionOfStuckAgent(t *testing.T) {
	for name, accept := range map[string]bool{"accepts nothing": false, "answers nothing": true} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if accept {
				go func() {
					for {
						c, err := l.Accept()
						if err != nil {
							return
						}
						defer c.Close() // it stays open until then: what nobody has, the garbage collector closes
					}
				}()
			}
			var out, errs bytes.Buffer
			began := time.Now()
			code := execute([]string{"__complete", "trace", "--socket", socket, ""}, strings.NewReader(""), &out, &errs)
			if took := time.Since(began); took < completeTime || took > completeTime+5*time.Second {
				t.Errorf("it took %v", took)
			}
			if code != exitOK || out.String() != ":4\n" {
				t.Errorf("exit status %d, %q, %q", code, &out, &errs)
			}
		})
	}
}

func TestCompletePods(t *testing.T) {
	pods := []trace.Pod{{Namespace: "infra", Name: "db"}, {Namespace: "shop", Name: "db"}, {Namespace: "shop", Name: "web"}}
	for _, c := range []struct {
		namespace, typed string
		want             []string
	}{
		{"", "", []string{"infra/db", "shop/db", "shop/web"}},
		{"", "shop/", []string{"shop/db", "shop/web"}},
		{"", "w", []string{"web"}},
		{"", "d", nil}, // it would be in two namespaces
		{"shop", "", []string{"db", "web"}},
		{"shop", "shop/w", []string{"shop/web"}},
		{"infra", "w", nil},
	} {
		if got := completePods(pods, c.namespace, c.typed); !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %q", c.typed, c.namespace, got)
		}
	}
}
