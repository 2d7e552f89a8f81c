package main

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

//go:embed pods.yaml
var pods string

// lives is how long the pods are left alone before they are deleted.
const lives = 40 * time.Second

func main() {
	out := flag.String("out", filepath.Join("inspect", "attach", "kubeletlog", "testdata"), "directory of the logs")
	runtime := flag.String("runtime", "containerd", "containerd or cri-o")
	flag.Parse()
	if flag.NArg() > 0 || *runtime != "containerd" && *runtime != "cri-o" {
		fmt.Fprintln(os.Stderr, "kubeletlogs: --runtime must be containerd or cri-o, without further arguments")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := write(ctx, *runtime, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubeletlogs:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, runtime, out string) (err error) {
	dir, err := os.MkdirTemp("", "kllog")
	if err != nil {
		return err
	}
	c, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Log: os.Stderr})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, c.Down(context.WithoutCancel(ctx)), os.RemoveAll(dir)) }()
	manifests := pods
	if runtime == "cri-o" {
		manifests += crioPods
	}
	file := filepath.Join(dir, "pods.yaml")
	text := strings.NewReplacer("${BUSYBOX}", c.Image(lab.ImageBusybox), "${HTTP}", c.Image(lab.ImageHTTP), "${LARGE}", c.Image(lab.Image60M), "${REGISTRY}", c.Registry)
	if err := os.WriteFile(file, []byte(text.Replace(manifests)), 0o600); err != nil {
		return err
	}
	if runtime == "cri-o" {
		return writeCRIO(ctx, c, file, out)
	}
	for _, level := range []int{2, 3, 4} {
		r := run{name: fmt.Sprintf("v%d", level), level: level, pods: file, out: out, runtime: c.ContainerdLog, suffix: "containerd"}
		if err := r.session(ctx, c); err != nil {
			return fmt.Errorf("at verbosity %d: %w", level, err)
		}
	}
	return nil
}

// run is a session of a kubelet with one level.
type run struct {
	// name is that of the files in the directory out, pods the manifests.
	name, out, pods string
	level           int
	// config is the KubeletConfiguration; "" is the cluster's.
	config string
	// runtime is the container runtime's log, of which the same time is kept, in a file with this suffix, only the lines that match; nil keeps all.
	runtime, suffix string
	only            *regexp.Regexp
}

func (r *run) session(ctx context.Context, c *lab.Cluster) (err error) {
	a, err := c.StartAgent(ctx, lab.AgentConfig{
		Kind: lab.Upstream, State: r.name, KubeletConfig: r.config, Args: []string{fmt.Sprintf("--v=%d", r.level)}, Log: os.Stderr,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop(context.WithoutCancel(ctx))) }()
	if err := a.WaitReady(ctx); err != nil {
		return err
	}
	st, err := os.Stat(a.LogFile)
	if err != nil {
		return err
	}
	runtime, err := os.Stat(r.runtime)
	if err != nil {
		return err
	}
	steps := []struct {
		args []string
		then time.Duration
	}{
		{[]string{"create", "-f", r.pods}, lives},
		{[]string{"delete", "--wait=false", "-n", "shop", "pods", "--all"}, 15 * time.Second},
		{[]string{"delete", "namespace", "shop"}, 0},
	}
	for _, s := range steps {
		if said, err := c.Kubectl(ctx, s.args...); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(s.args, " "), err, said)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.then):
		}
	}
	if err := keep(r.runtime, runtime.Size(), filepath.Join(r.out, r.name+"."+r.suffix+".log.gz"), r.only); err != nil {
		return err
	}
	return keep(a.LogFile, st.Size(), filepath.Join(r.out, r.name+".log.gz"), nil)
}

// keep writes what was logged since: whole entries, compressed.
func keep(log string, from int64, out string, only *regexp.Regexp) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	from = min(from, int64(len(text)))
	from = int64(bytes.LastIndexByte(text[:from], '\n') + 1) // a whole line
	var kept []byte
	for line := range bytes.Lines(text[from:]) {
		if only == nil || only.Match(line) {
			kept = append(kept, line...)
		}
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(kept); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}
