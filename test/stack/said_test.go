package stack

import (
	"strings"
	"testing"
)

// said fails if a program of the stack has printed an error, other than those that are to be expected.
func (b *bench) said(t *testing.T) {
	t.Helper()
	for _, name := range []string{"collector", "prometheus", "jaeger"} {
		if name == "jaeger" && b.jaeger == "" {
			continue
		}
		for line := range strings.Lines(b.kubectl(t, "logs", "-n", namespace, "deploy/"+name, "-c", name)) {
			if !strings.Contains(line, "level=ERROR") && !strings.Contains(line, "\terror\t") || b.expected(name, line) {
				continue
			}
			t.Errorf("%s said: %s", name, line)
		}
	}
}

// expected reports whether a program may say a line: before attach is there, Prometheus may not list its pods; without Jaeger, the Collector cannot
// send spans on.
func (b *bench) expected(name, line string) bool {
	switch name {
	case "prometheus":
		return strings.Contains(line, `cannot list resource \"pods\"`) && strings.Contains(line, `in the namespace \"kubeloupe\"`)
	case "collector":
		return b.jaeger == "" && strings.Contains(line, "otlp_grpc/jaeger")
	}
	return false
}
