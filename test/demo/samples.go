package main

import (
	"context"
	"embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// pullRate is what the lab's registry gives, in bytes a second: enough to wait
// little, slow enough to see.
const pullRate = 24 << 20

//go:embed manifests/*.yaml
var files embed.FS

// goal is where a sample pod should get.
type goal string

const (
	ready     goal = "ready"
	succeeded goal = "succeeded"
	backOff   goal = "back-off"
)

// sample is one of the pods.
type sample struct {
	name string // of the pod in its manifest, and of the file
	goal goal
}

// samples returns the pods, in the order in which they are written.
func samples() []sample {
	return []sample{
		{"web", ready},        // the plain case
		{"stages", ready},     // two init containers
		{"notes", ready},      // emptyDir, hostPath, downwardAPI
		{"big", ready},        // the image must be pulled
		{"front", ready},      // hostPort, two containers, limits
		{"report", succeeded}, // runs to its end
		{"crash", backOff},    // fails again and again
	}
}

// explained is the pod whose start is drawn.
const explained = "big"

// put writes a sample's manifest, whole at once as `mv` would.
func (d *demo) put(s sample) error {
	text, err := manifest(s.name, d.vars)
	if err != nil {
		return err
	}
	tmp := filepath.Join(d.manifests, "."+s.name)
	if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, d.file(s))
}

func (d *demo) file(s sample) string { return filepath.Join(d.manifests, s.name+".yaml") }

// manifest returns the text of manifests/NAME.yaml with its $PLACEHOLDERS filled in.
func manifest(name string, vars map[string]string) (string, error) {
	raw, err := files.ReadFile("manifests/" + name + ".yaml")
	if err != nil {
		return "", err
	}
	var missing []string
	text := os.Expand(string(raw), func(v string) string {
		if !isPlaceholder(v) {
			return "$" + v // the shell's, in the container
		}
		if _, ok := vars[v]; !ok {
			missing = append(missing, v)
		}
		return vars[v]
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("manifests/%s.yaml: nothing to put for $%s", name, strings.Join(missing, ", $"))
	}
	return text, nil
}

func isPlaceholder(v string) bool {
	return strings.HasPrefix(v, "IMAGE_") || slices.Contains([]string{"SCRATCH", "HOST_PORT"}, v)
}

// labVars are the lab's images, as in its env file.
func labVars(l *lab.Lab) map[string]string {
	vars := map[string]string{}
	for _, i := range lab.Images() {
		vars["IMAGE_"+strings.ToUpper(string(i))] = l.Image(i)
	}
	return vars
}

// simVars are images that the simulated runtime knows.
func simVars() map[string]string {
	return map[string]string{"IMAGE_BUSYBOX": "busybox:1.37", "IMAGE_HTTP": "example.com/http:1", "IMAGE_60M": "nginx:latest"}
}

// freePort finds a port for the pod with a hostPort.
func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":0")
	if err != nil {
		return "", fmt.Errorf("a port for hostPort: %w", err)
	}
	defer l.Close() //nolint:errcheck // it was only to find the port
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return "", fmt.Errorf("a port for hostPort: %s is no TCP address", l.Addr())
	}
	return strconv.Itoa(addr.Port), nil
}
