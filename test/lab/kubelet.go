package lab

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// The modules that pin older kubelets, each with the staging repositories of its version.
//
//go:embed kubelets/*/*.txt
var kubeletSource embed.FS

// BuildKubelet builds an older one of upstream's kubelets where it is missing, and returns the program. minor is such as v1.34. It takes some
// minutes on two processors.
func BuildKubelet(ctx context.Context, minor string, log io.Writer) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	source, err := fs.Sub(kubeletSource, "kubelets/"+minor)
	if err != nil {
		return "", err
	}
	mod, err := fs.ReadFile(source, "go.mod.txt")
	if err != nil {
		return "", fmt.Errorf("kubelet %q: want one of those in test/lab/kubelets, as v1.34", minor)
	}
	hash, err := hashFS(source)
	if err != nil {
		return "", err
	}
	version := pinned(string(mod), "k8s.io/kubernetes")
	dir, err := b.ensure("kubelet", version+"-"+hash, "bin", func(tmp string) error {
		return b.inModule(source, func(dir string, env []string) error {
			args := append([]string{"build"}, versionFlags(version)...)
			return b.run(ctx, dir, env, "go", append(args, "-o", tmp+"/", "k8s.io/kubernetes/cmd/kubelet")...)
		})
	})
	return filepath.Join(dir, "kubelet"), err
}

// pinned returns the version that a go.mod requires of a module.
func pinned(mod, module string) string {
	for line := range strings.Lines(mod) {
		f := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(f) >= 2 && f[0] == module {
			return f[1]
		}
	}
	return ""
}
