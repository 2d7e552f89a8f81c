package verbosity

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletapi"
)

// calls remembers what was run.
type calls struct {
	all []string
	err error
}

func (c *calls) run(_ context.Context, program string, args ...string) error {
	c.all = append(c.all, program+" "+strings.Join(args, " "))
	return c.err
}

// TestHold arms a timer anew while it is needed.
func TestHold(t *testing.T) {
	for name, c := range map[string]struct {
		until    time.Duration
		released time.Duration
		err      error
		want     time.Duration
		renewed  int
	}{
		"until its time": {until: 90 * time.Second, released: time.Hour, want: 90 * time.Second, renewed: 4},
		"released":       {until: time.Hour, released: 30 * time.Second, want: 30 * time.Second, renewed: 1},
		"it has fired":   {until: time.Hour, released: time.Hour, err: errors.New("not loaded"), want: time.Minute, renewed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := &calls{err: c.err}
				timer := Timer{Name: "kubeloupe-verbosity-1", Run: ran.run, lease: lease, renewal: renewal}
				released, began := make(chan struct{}), time.Now()
				time.AfterFunc(c.released, func() { close(released) })
				timer.hold(began.Add(c.until), released)
				if got := time.Since(began); got != c.want {
					t.Errorf("it ended after %v, want %v", got, c.want)
				}
				if len(ran.all) != c.renewed || c.renewed > 0 && ran.all[0] != "systemctl restart kubeloupe-verbosity-1.timer" {
					t.Errorf("it ran %q", ran.all)
				}
				time.Sleep(time.Hour) // what was released is over
			})
		})
	}
}

// TestArm hands the job to the timer's command, which puts the verbosity back.
func TestArm(t *testing.T) {
	ran := &calls{}
	timer := Timer{Name: "kubeloupe-verbosity-1", PutBack: []string{"/bin/kubeloupe", "put-back"}, Run: ran.run, lease: lease}
	job := &Job{Client: kubeletapi.Client{Address: "127.0.0.1:10250", Kubeconfig: "/etc/kubernetes/$a %d.conf"}, Old: 2, Until: time.Now().Add(time.Hour)}
	if err := timer.arm(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	begin, arg, _ := strings.Cut(ran.all[0], " -- /bin/kubeloupe put-back ")
	want := "systemd-run --quiet --collect --unit=kubeloupe-verbosity-1 --description=Put the verbosity of the kubelet back to 2 --on-active=60000ms --timer-property=AccuracySec=1s"
	if begin != want {
		t.Errorf("it ran %s\nwant   %s", begin, want)
	}
	if strings.ContainsAny(arg, "$% \\\"'") {
		t.Errorf("a unit reads %s as something else", arg)
	}
	job.Kubeconfig, job.Pins = "mine.conf", []string{"pki/kubelet.crt"} // its command runs in another directory
	if err := timer.arm(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	_, relative, _ := strings.Cut(ran.all[1], " put-back ")
	if got, err := decode(relative); err != nil || got.Kubeconfig != filepath.Join(dir, "mine.conf") || got.Pins[0] != filepath.Join(dir, "pki/kubelet.crt") || job.Kubeconfig != "mine.conf" || job.Pins[0] != "pki/kubelet.crt" {
		t.Errorf("the job is %+v, %v", got, err)
	}
	job.Kubeconfig = "/etc/kubernetes/$a %d.conf"
	got, err := decode(arg)
	if err != nil || got.Address != job.Address || got.Kubeconfig != job.Kubeconfig || got.Old != 2 {
		t.Errorf("the job is %+v, %v", got, err)
	}
}
