package userns

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

func TestSubids(t *testing.T) {
	const good = "0: kubelet 131072 655360\n"
	down := errors.New("exit status 1")
	for _, c := range []struct {
		name       string
		user, find error
		uids, gids string
		fail       string // the arguments of the call that fails
		want       Range
		says       string
	}{
		{name: "a range", uids: good, gids: good, want: Range{131072, 655360}},
		{name: "no user", user: user.UnknownUserError("kubelet"), uids: good, gids: good},
		{name: "users are not known", user: down, says: "look up the user kubelet"},
		{name: "no program", find: &exec.Error{Name: "getsubids", Err: exec.ErrNotFound}, uids: good, gids: good},
		{name: "a program that cannot be run", find: os.ErrPermission, says: "find the program getsubids"},
		{name: "no users' range", fail: "kubelet", says: "/etc/subuid and /etc/subgid: /bin/getsubids kubelet: exit status 1"},
		{name: "no groups' range", uids: good, fail: "-g kubelet", says: "/bin/getsubids -g kubelet: exit status 1"},
		{name: "two different ones", uids: good, gids: "0: kubelet 65536 655360\n", says: "different ranges"},
		{name: "two ranges", uids: good + good, gids: good + good, says: "exactly one range"},
		{name: "nothing", says: "exactly one range"},
		{name: "words", uids: "0: kubelet a b", gids: "0: kubelet a b", says: "exactly one range"},
		{name: "none in it", uids: "0: kubelet 65536 0", gids: "0: kubelet 65536 0", says: "exactly one range"},
		{name: "too large", uids: "0: kubelet 65536 4294967296", gids: "0: kubelet 65536 4294967296", says: "exactly one range"},
	} {
		s := Subids{
			user: func(string) error { return c.user },
			find: func(string) (string, error) { return "/bin/getsubids", c.find },
			run: func(_ context.Context, args ...string) ([]byte, error) {
				switch said := strings.Join(args[1:], " "); {
				case c.fail == said:
					return nil, down
				case said == "kubelet":
					return []byte(c.uids), nil
				default:
					return []byte(c.gids), nil
				}
			},
		}
		got, err := s.Read(t.Context())
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v, want %+v, %q", c.name, got, err, c.want, c.says)
		}
	}
}

// The system's program runs with a limit of its output.
func TestSystemSubids(t *testing.T) {
	s := SystemSubids()
	if out, err := s.run(t.Context(), "/bin/sh", "-c", "echo $0", "x"); err != nil || string(out) != "x\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := s.run(t.Context(), "/bin/sh", "-c", "while :; do echo $0$0$0$0; done", strings.Repeat("x", 1000)); err == nil || len(out) > subidLimits().Stdout {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestRangeIsChecked(t *testing.T) {
	const u = DefaultPerPod
	for _, c := range []struct {
		r    Range
		says string
	}{
		{Range{u, 10 * u}, ""},
		{Range{1<<32 - 10*u, 10 * u}, ""},
		{Range{0, 10 * u}, "must begin at a multiple of 65536, not at 0"},
		{Range{u / 2, 10 * u}, "must begin at a multiple"},
		{Range{u + 1, 10 * u}, "must begin at a multiple"},
		{Range{u, 10*u + 1}, "must be a multiple of 65536"},
		{Range{u, 9 * u}, "10 pods (maxPods) need at least 655360"},
		{Range{1<<32 - 9*u, 10 * u}, "below 2^32"},
	} {
		_, err := New(Config{RootDir: t.TempDir(), MaxPods: 10, Range: c.r})
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "/etc/subuid")) {
			t.Errorf("%+v: %v, want %q", c.r, err, c.says)
		}
	}
}

// Pods have IDs of the range. A pod that has others from before stops the start: they may belong to somebody else.
func TestRangeIsUsed(t *testing.T) {
	root, r := t.TempDir(), Range{5 * DefaultPerPod, 2 * DefaultPerPod}
	ranges, err := New(Config{RootDir: root, MaxPods: 2, Range: r})
	if err != nil {
		t.Fatal(err)
	}
	for i, uid := range []string{"a", "b"} {
		ns, err := ranges.Of(wants(uid))
		if err != nil || int64(ns.Uids[0].HostId) != r.First+int64(i)*DefaultPerPod {
			t.Errorf("%s: %v, %v", uid, ns, err)
		}
	}
	if _, err := ranges.Of(wants("c")); err == nil {
		t.Error("a third of two")
	}
	if _, err := New(Config{RootDir: root, MaxPods: 2, Range: r}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	file := filepath.Join(root, "pods", "b", fileName)
	if _, err := New(Config{RootDir: root, MaxPods: 1, Range: Range{r.First, DefaultPerPod}}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a pod outside: %v", err)
	}
}
