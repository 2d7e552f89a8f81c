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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := write(ctx, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubeletlogs:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, out string) (err error) {
	dir, err := os.MkdirTemp("", "kllog")
	if err != nil {
		return err
	}
	c, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Log: os.Stderr})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, c.Down(context.WithoutCancel(ctx)), os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "pods.yaml")
	text := strings.NewReplacer("${BUSYBOX}", c.Image(lab.ImageBusybox), "${HTTP}", c.Image(lab.ImageHTTP), "${REGISTRY}", c.Registry).Replace(pods)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	for _, level := range []int{2, 3, 4} {
		if err := session(ctx, c, level, file, filepath.Join(out, fmt.Sprintf("v%d.log.gz", level))); err != nil {
			return fmt.Errorf("at verbosity %d: %w", level, err)
		}
	}
	return nil
}

// session is a kubelet's with one level. Beside its log, the container runtime's of the same time is kept.
func session(ctx context.Context, c *lab.Cluster, level int, file, out string) (err error) {
	a, err := c.StartAgent(ctx, lab.AgentConfig{Kind: lab.Upstream, State: fmt.Sprintf("v%d", level), Args: []string{fmt.Sprintf("--v=%d", level)}, Log: os.Stderr})
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
	runtime, err := os.Stat(c.ContainerdLog)
	if err != nil {
		return err
	}
	steps := []struct {
		args []string
		then time.Duration
	}{
		{[]string{"create", "-f", file}, lives},
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
	if err := keep(c.ContainerdLog, runtime.Size(), strings.TrimSuffix(out, ".log.gz")+".containerd.log.gz"); err != nil {
		return err
	}
	return keep(a.LogFile, st.Size(), out)
}

// keep writes what was logged since: whole entries, compressed.
func keep(log string, from int64, out string) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	from = min(from, int64(len(text)))
	from = int64(bytes.LastIndexByte(text[:from], '\n') + 1) // a whole line
	text = text[from:]
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
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
