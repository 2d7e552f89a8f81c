package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// unit runs the tests, so that they outlive a connection that breaks.
	unit = "e2e-node"
	// pollEvery is how often the machine, which is slow, is asked.
	pollEvery = 15 * time.Second
	// collectTime is how long it may take to copy the logs and to stop what is left.
	collectTime = 20 * time.Minute
)

// workspace is the directory of a run. The tests name the kubelet's unit by its time.
func workspace(at time.Time) string { return "node-e2e-" + at.UTC().Format("20060102T150405") }

// session is one run of the tests on a machine, in a directory there.
type session struct {
	*node.Machine
	dir string
	// api is the tests' API server on this host; nil is their own one on the machine.
	api *apiServer
}

// begin is the script that starts the tests: e2e_node.test takes the kubelet that is in its own directory. The tests want no huge pages but those
// that they allocate.
func (s session) begin(o options) string {
	return fmt.Sprintf(`set -e
%[1]s
%[7]s
systemctl reset-failed
rm -f /var/lib/kubelet/*_manager_state
echo 0 > /proc/sys/vm/nr_hugepages
mkdir -p %[2]s/results
cd %[2]s
ln -f %[3]s/e2e_node.test %[3]s/ginkgo .
ln -f %[3]s/%[4]s/kubelet kubelet
cat > run <<'END'
%[5]s
END
systemd-run --quiet --unit=%[6]s --remain-after-exit --working-directory=%[2]s --setenv=HOME=/root \
	-p StandardOutput=file:%[2]s/results/ginkgo.log -p StandardError=file:%[2]s/results/ginkgo.log /bin/sh run
`, stop, s.dir, home, o.agent, s.script(o), unit, swap(o.swap))
}

// script runs the tests. If they have no API server of their own, they do not start the agent either.
func (s session) script(o options) string {
	all := suite{
		results: s.dir + "/results", node: node.Name, config: home + "/config.yaml", runtime: "/usr/bin/containerd",
		runtimeCgroup: "/system.slice/containerd.service",
	}
	if s.api == nil {
		return "exec " + words(all.command(o))
	}
	all.api, all.token = s.api.url, s.api.token
	return fmt.Sprintf(`%s > results/kubelet-mode.log 2>&1 &
agent=$!
until curl -sf --max-time 20 http://127.0.0.1:10248/healthz; do
	kill -0 $agent || exit 1
	sleep 1
done
%s
code=$?
kill $agent
wait $agent
exit $code`, words(all.kubelet(o)), words(all.command(o)))
}

// words are the words of a shell's command.
func words(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
	}
	return strings.Join(quoted, " ")
}

// swap turns the machine's swap on or off. It is a file, which is made when it is first used.
func swap(on bool) string {
	const file = "/var/swap"
	if !on {
		return "swapoff -a\nsed -i /failSwapOn/d " + home + "/config.yaml"
	}
	return fmt.Sprintf("sed -i /failSwapOn/d %[2]s/config.yaml\necho 'failSwapOn: false' >> %[2]s/config.yaml\n[ -e %[1]s ] || { fallocate -l 256M %[1]s; chmod 600 %[1]s; mkswap -q %[1]s; }\nswapoff -a\nswapon %[1]s", file, home)
}

// stop ends what may be left of a run: the tests, then the kubelet.
const stop = `systemctl stop ` + unit + ` 2>/dev/null || true
systemctl stop 'kubelet-*' 2>/dev/null || true`

// wait waits until the tests have ended, and says now and then how many did.
func (s session) wait(ctx context.Context, out io.Writer) error {
	// ginkgo writes a sign for each test, without new lines.
	const script = `systemctl show -p SubState --value ` + unit + `; grep -o '•' %[1]s/results/ginkgo.log | wc -l; grep -o '• \[FAILED\]' %[1]s/results/ginkgo.log | wc -l`
	begin, said := time.Now(), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
		ask, cancel := context.WithTimeout(ctx, 5*time.Minute)
		answer, err := s.Run(ask, fmt.Sprintf(script, s.dir))
		cancel()
		f := strings.Fields(answer)
		switch {
		case s.Ended():
			return fmt.Errorf("the machine ended while the tests ran; its console is %s", s.Console)
		case err != nil || len(f) != 3:
			continue // it is busy
		case f[0] != "running":
			_, err := fmt.Fprintf(out, "  the tests ended after %s\n", time.Since(begin).Round(time.Second))
			return err
		case time.Since(said) >= time.Minute:
			said = time.Now()
			_, _ = fmt.Fprintf(out, "  %s: %s tests ended, %s of them failed\n", time.Since(begin).Round(time.Second), f[1], f[2])
		}
	}
}

// collect copies the logs and reports to a directory of this machine.
func (s session) collect(ctx context.Context, dir string) error {
	from := s.Command(ctx, "tar -C "+s.dir+"/results -cf - .")
	to := exec.CommandContext(ctx, "tar", "-C", dir, "-xf", "-")
	from.Stderr, to.Stderr = os.Stderr, os.Stderr
	pipe, err := from.StdoutPipe()
	if err != nil {
		return err
	}
	to.Stdin = pipe
	if err := errors.Join(from.Start(), to.Start()); err != nil {
		return err
	}
	return errors.Join(to.Wait(), from.Wait())
}

// end stops what is left, and removes the directory of the run.
func (s session) end(ctx context.Context) error {
	_, err := s.Run(ctx, stop+"\nrm -rf "+s.dir)
	return err
}

// install copies a program to the machine, unless it is there.
func install(ctx context.Context, m *node.Machine, program string) error {
	const to = home + "/kubeloupe/program/kubelet"
	sum, err := sha256File(program)
	if err != nil {
		return err
	}
	if there, err := m.Run(ctx, "sha256sum "+to+" 2>/dev/null || true"); err != nil || strings.HasPrefix(there, sum) {
		return err
	}
	f, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	c := m.Command(ctx, fmt.Sprintf("mkdir -p $(dirname %[1]s) && cat > %[1]s.new && chmod 755 %[1]s.new && mv %[1]s.new %[1]s", to))
	c.Stdin = f
	if said, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}
