package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Image is one image of the simulated registry.
type Image struct {
	// Name is a reference with a tag, such as "busybox:1.37"; it is normalized as containerd does.
	Name string
	// Size in bytes of an image of one layer. Ignored when Layers is set.
	Size uint64
	// Layers are downloaded once: images that share a digest share the layer.
	Layers []Layer
	// Entrypoint and Cmd are the command of a container without its own. If both are empty, it is an unknown program,
	// which runs until it is stopped.
	Entrypoint, Cmd []string
	// Programs are the only programs that exist in the image, by base name. Nil means that every program exists.
	Programs []string
	// User is a name or a number, as in an image's configuration.
	User string
	// StopSignal is, for example, "SIGQUIT"; empty means SIGTERM.
	StopSignal string
	// Pinned images must not be removed by image GC.
	Pinned bool
	// Present images are on the node from the start.
	Present bool
}

// Layer is one layer of an image.
type Layer struct {
	// Digest identifies the layer. Any non-empty text will do.
	Digest string
	// Size in bytes.
	Size uint64
}

// busyboxPrograms are the programs of a small busybox that manifests use.
var busyboxPrograms = []string{ //nolint:gochecknoglobals // a constant table
	"[", "ash", "awk", "basename", "busybox", "cat", "chmod", "chown", "cp", "cut", "date", "df", "dirname", "du", "echo",
	"env", "false", "find", "free", "grep", "head", "hostname", "httpd", "id", "ip", "kill", "ln", "ls", "mkdir", "mkfifo",
	"mktemp", "mount", "mv", "nc", "nslookup", "ping", "printenv", "printf", "ps", "pwd", "readlink", "realpath", "rm",
	"rmdir", "sed", "seq", "sh", "sleep", "sort", "stat", "sync", "tail", "tar", "tee", "telnet", "test", "time",
	"timeout", "top", "touch", "tr", "true", "tty", "umount", "uname", "uniq", "uptime", "vi", "watch", "wc", "wget",
	"which", "whoami", "xargs", "yes",
}

// DefaultImages returns a small registry for demonstrations, which the caller owns.
func DefaultImages() []Image {
	server := []string{"sh", "-c", "trap 'exit 0' TERM QUIT; sleep infinity & wait"}
	return []Image{
		{Name: "registry.k8s.io/pause:3.10", Size: 320 << 10, Pinned: true, Present: true, Entrypoint: []string{"/pause"}},
		{Name: "busybox:1.37", Size: 2 << 20, Cmd: []string{"sh"}, Programs: busyboxPrograms},
		{Name: "busybox:latest", Size: 2 << 20, Cmd: []string{"sh"}, Programs: busyboxPrograms},
		{Name: "alpine:3.22", Size: 4 << 20, Cmd: []string{"sh"}},
		{Name: "nginx:latest", Layers: []Layer{{"debian", 28 << 20}, {"nginx", 44 << 20}}, Entrypoint: server, StopSignal: "SIGQUIT"},
		{Name: "redis:latest", Layers: []Layer{{"debian", 28 << 20}, {"redis", 18 << 20}}, Entrypoint: server, User: "999"},
	}
}

// complete normalizes the name and sets missing layers.
func (i *Image) complete() error {
	ref, err := reference.ParseDockerRef(i.Name)
	if err != nil {
		return fmt.Errorf("images: %q: %w", i.Name, err)
	}
	if _, ok := ref.(reference.Canonical); ok {
		return fmt.Errorf("images: %q: want a tag, not a digest", i.Name)
	}
	i.Name = ref.String()
	if len(i.Layers) == 0 {
		i.Layers = []Layer{{Digest: "layer of " + i.Name, Size: i.Size}}
	}
	if len(i.Entrypoint) == 0 && len(i.Cmd) == 0 {
		i.Entrypoint = []string{"/entrypoint"}
	}
	return nil
}

// id returns the digest of the image's configuration, derived from its name.
func (i *Image) id() string { return digest("config of " + i.Name) }

// repoDigest returns the reference with the digest of the manifest.
func (i *Image) repoDigest() string {
	ref, err := reference.ParseDockerRef(i.Name)
	if err != nil {
		return "" // cannot happen: complete has checked the name
	}
	return ref.Name() + "@" + digest("manifest of "+i.Name)
}

// size returns the total size of the layers.
func (i *Image) size() uint64 {
	var n uint64
	for _, l := range i.Layers {
		n += l.Size
	}
	return n
}

// user returns the image's user, as a number or as a name.
func (i *Image) user() (*runtimeapi.Int64Value, string) {
	name, _, _ := strings.Cut(i.User, ":")
	if uid, err := strconv.ParseInt(name, 10, 64); err == nil {
		return &runtimeapi.Int64Value{Value: uid}, ""
	}
	return nil, name
}

func (i *Image) has(program string) bool {
	return i.Programs == nil || slices.Contains(i.Programs, program)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}
