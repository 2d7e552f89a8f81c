package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// patience is how long a Collector may take to listen, and to end.
const patience = 30 * time.Second

// TLS are files in PEM: the certificate of a Collector and its key.
type TLS struct{ Cert, Key string }

// Collector is an OpenTelemetry Collector that writes what it receives to a file, each time that it is started to the same one. Its methods
// are not for concurrent use.
type Collector struct {
	// Addr is where it listens, as HOST:PORT.
	Addr string
	// File has what it received: OTLP as JSON, one request to a line.
	File string
	// TLS is its certificate; without one, it takes connections without TLS.
	TLS TLS
	// To is where it sends spans on to, over gRPC without TLS, as HOST:PORT; nobody if empty.
	To string
	// ClientCA is a file with the CA of clients, which need a certificate then.
	ClientCA string

	bin, dir string
	cmd      *exec.Cmd
	log      output
}

// output is what a program has printed. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// New builds the Collector if it is missing, which log tells then, and finds an address for it. dir exists, and takes its files.
func New(ctx context.Context, dir string, log io.Writer) (*Collector, error) {
	bin, err := lab.BuildCollector(ctx, log)
	if err != nil {
		return nil, err
	}
	addr, err := FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return &Collector{Addr: addr, File: filepath.Join(dir, "spans.json"), bin: bin, dir: dir}, nil
}

// FreeAddress returns an address of the loopback device at which nobody listens.
func FreeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

const config = `
receivers: {otlp: {protocols: {grpc: {endpoint: %q%s}}}}
exporters: {file: {path: %q, append: true, flush_interval: 200ms}%s}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [file%s]}}
`

// Start starts it, and waits until it listens. It is an error if it runs.
func (c *Collector) Start(ctx context.Context) error {
	if c.cmd != nil {
		return errors.New("the Collector runs already")
	}
	var secure, onward, also string
	if c.To != "" {
		onward, also = fmt.Sprintf(", otlp_grpc/to: {endpoint: %q, tls: {insecure: true}}", c.To), ", otlp_grpc/to"
	}
	if c.TLS.Cert != "" {
		secure = fmt.Sprintf(", tls: {cert_file: %q, key_file: %q", c.TLS.Cert, c.TLS.Key)
		if c.ClientCA != "" {
			secure += fmt.Sprintf(", client_ca_file: %q", c.ClientCA)
		}
		secure += "}"
	}
	file := filepath.Join(c.dir, "collector.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, c.Addr, secure, c.File, onward, also), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(c.bin, "--config", "file:"+file)
	cmd.Stdout, cmd.Stderr = &c.log, &c.log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd = cmd
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Addr)
		if err == nil {
			itself := conn.LocalAddr().String() == c.Addr // TCP connects a port that nobody listens at to itself
			if err := conn.Close(); err != nil || !itself {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the Collector does not listen: %w", err), c.Stop())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Check reports what the Collector finds wrong with a configuration, without starting it.
func Check(ctx context.Context, file string, log io.Writer) error {
	bin, err := lab.BuildCollector(ctx, log)
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, bin, "validate", "--config", "file:"+file).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", file, err, out)
	}
	return nil
}

// Signal sends it a signal, such as SIGSTOP. It is os.ErrProcessDone if it does not run.
func (c *Collector) Signal(s os.Signal) error {
	if c.cmd == nil {
		return os.ErrProcessDone
	}
	return c.cmd.Process.Signal(s)
}

// Stop ends it, if it runs: it writes what it has. The error has what it printed.
func (c *Collector) Stop() error {
	if c.cmd == nil {
		return nil
	}
	cmd := c.cmd
	c.cmd = nil
	_ = cmd.Process.Signal(syscall.SIGTERM) // Wait says more
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("the Collector: %w\n%s", err, c.log.String())
	}
	return nil
}
