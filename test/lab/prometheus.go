package lab

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

//go:embed prometheus/*.txt
var prometheusSource embed.FS

// BuildPrometheus builds Prometheus where it is missing, with targets that are static or found in Kubernetes, and without its UI, and returns the path
// of the program. The first time it takes some minutes of a processor; one line then goes to log, which may be nil.
func BuildPrometheus(ctx context.Context, log io.Writer) (string, error) {
	return buildPinned(ctx, log, "prometheus", "github.com/prometheus/prometheus", prometheusSource, "cmd/prometheus", "-tags", "remove_all_sd,enable_kubernetes_sd,grpcnotrace")
}

// buildPinned builds a program of a module that the go.mod of a source pins, which is in a directory of the program's name.
func buildPinned(ctx context.Context, log io.Writer, name, module string, source fs.FS, program string, flags ...string) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	mod, err := fs.ReadFile(source, name+"/go.mod.txt")
	if err != nil {
		return "", err
	}
	hash, err := hashFS(source)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(hash + strings.Join(flags, " ")))
	dir, err := b.ensure(name, pinned(string(mod), module)+"-"+hex.EncodeToString(sum[:6]), "bin", func(tmp string) error {
		return b.inModule(source, func(dir string, env []string) error {
			args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(tmp, name)}, flags...)
			return b.run(ctx, dir, env, "go", append(args, module+"/"+program)...)
		})
	})
	return filepath.Join(dir, name), err
}
