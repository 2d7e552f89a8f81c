package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Run runs a script on the node. It fails the test if the script fails.
func (b *Bench) Run(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Deadline)
	defer cancel()
	out, err := b.VM.Run(ctx, script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// Eventually waits until missing says nothing.
func Eventually(t *testing.T, what string, missing func() string) {
	t.Helper()
	for end := time.Now().Add(Deadline); ; time.Sleep(time.Second) {
		said := missing()
		if said == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s", what, said)
		}
	}
}

// Says waits until a script on the node prints what is wanted.
func (b *Bench) Says(t *testing.T, script, want string) string {
	t.Helper()
	var out string
	Eventually(t, script, func() string {
		var err error
		if out, err = b.VM.Run(t.Context(), script); !strings.Contains(out, want) {
			return fmt.Sprintf("want %q: %v: %s", want, err, out)
		}
		return ""
	})
	return out
}
