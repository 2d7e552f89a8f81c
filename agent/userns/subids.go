package userns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/program"
)

const (
	// subidUser is the user whose subordinate IDs are the pods'.
	subidUser = "kubelet"
	// subidFiles are where an administrator sets them; another source can be set in nsswitch.conf.
	subidFiles   = "/etc/subuid and /etc/subgid"
	subidProgram = "getsubids"
)

// subidLimits are the limits of getsubids, which may ask a server.
func subidLimits() program.Limits { return program.Limits{Time: 10 * time.Second, Stdout: 64 << 10} }

// Range is the host's IDs that pods may have. The zero value is all of them, except the first of the size of a pod's.
type Range struct{ First, Length int64 }

// Subids reads the IDs that the administrator gave to the user kubelet.
type Subids struct {
	user func(name string) error
	find func(program string) (string, error)
	run  func(ctx context.Context, args ...string) ([]byte, error)
}

// SystemSubids returns the Subids of this machine.
func SystemSubids() Subids {
	return Subids{
		user: func(name string) error {
			_, err := user.Lookup(name)
			return err
		},
		find: exec.LookPath,
		run: func(ctx context.Context, args ...string) ([]byte, error) {
			out, err := program.Run(ctx, subidLimits(), func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, args[0], args[1:]...) })
			return out.Stdout, err
		},
	}
}

// Read returns the range; the zero value if the user or the program getsubids does not exist. If both exist, a range is required: a
// missing one can also be a server that does not respond.
//
// Upstream: pkg/kubelet/kubelet_pods.go, getKubeletMappings. There, a missing program is an error by mistake.
func (s Subids) Read(ctx context.Context) (Range, error) {
	err := s.user(subidUser)
	if _, unknown := errors.AsType[user.UnknownUserError](err); unknown {
		return Range{}, nil
	}
	if err != nil {
		return Range{}, fmt.Errorf("look up the user %s: %w", subidUser, err)
	}
	path, err := s.find(subidProgram)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return Range{}, nil
	}
	if err != nil {
		return Range{}, fmt.Errorf("find the program %s: %w", subidProgram, err)
	}
	uids, err := s.run(ctx, path, subidUser)
	if err != nil {
		return Range{}, fmt.Errorf("%s: %s %s: %w; set a range for this user, or remove the user", subidFiles, path, subidUser, err)
	}
	gids, err := s.run(ctx, path, "-g", subidUser)
	if err != nil {
		return Range{}, fmt.Errorf("%s: %s -g %s: %w; set a range for this user, or remove the user", subidFiles, path, subidUser, err)
	}
	if !bytes.Equal(uids, gids) {
		return Range{}, fmt.Errorf("%s: user %s has different ranges: they must be the same", subidFiles, subidUser)
	}
	return parseSubids(string(uids))
}

// parseSubids parses the output of getsubids: one line, such as "0: kubelet 65536 2147483648".
func parseSubids(text string) (Range, error) {
	bad := fmt.Errorf("%s: user %s must have exactly one range; getsubids printed %.200q, and must print one line such as \"0: kubelet 65536 7208960\"",
		subidFiles, subidUser, text)
	text = strings.Trim(text, "\n")
	words := strings.Fields(text)
	if strings.Contains(text, "\n") || len(words) != 4 {
		return Range{}, bad
	}
	first, err := strconv.ParseUint(words[2], 10, 32)
	length, err2 := strconv.ParseUint(words[3], 10, 32)
	if err != nil || err2 != nil || length == 0 {
		return Range{}, bad
	}
	return Range{First: int64(first), Length: int64(length)}, nil
}

// check returns what is wrong with a range for so many pods.
//
// Upstream: pkg/kubelet/userns/userns_manager.go, MakeUserNsManager.
func (r Range) check(perPod, pods int64) error {
	at := fmt.Sprintf("%s: the range of user %s", subidFiles, subidUser)
	switch {
	case r.First < perPod || r.First%perPod != 0:
		return fmt.Errorf("%s begins at %d: it must begin at a multiple of %d, not at 0", at, r.First, perPod)
	case r.Length%perPod != 0:
		return fmt.Errorf("%s has %d IDs: their number must be a multiple of %d", at, r.Length, perPod)
	case r.First+r.Length > 1<<32:
		return fmt.Errorf("%s ends at %d: it must end below 2^32", at, r.First+r.Length-1)
	case r.Length/perPod < pods:
		return fmt.Errorf("%s has %d IDs: %d pods (maxPods) need at least %d", at, r.Length, pods, pods*perPod)
	}
	return nil
}
