package criconfig_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// TestEnvFileOfNewlines: a value with so many lines took more than a minute, while its pod held a slot of the runtime.
func TestEnvFileOfNewlines(t *testing.T) {
	lines := strings.Repeat("\n", 400_000)
	for _, tc := range []struct{ name, text, want, fail string }{
		{name: "a long value", text: "X='" + lines + "'\n", want: lines},
		{name: "before what is asked for", text: "A='" + lines + "'\nX='v'\n", want: "v"},
		{name: "with carriage returns", text: "X='" + strings.ReplaceAll(lines, "\n", "\r\n") + "'\n", want: lines},
		{name: "blank lines", text: lines + "X='v'\n", want: "v"},
		{name: "never closed", text: "X='" + lines, fail: "line 1: the quote is never closed"},
		{name: "a mistake behind", text: "A='" + lines + "'\nX=v\n", fail: "line 400002: the value must be in single quotes"},
	} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		c.Env = []v1.EnvVar{fromFile("X", nil)}
		vars, err := criconfig.Env(t.Context(), pod, c, criconfig.EnvInput{
			File: func(string, string) ([]byte, error) { return []byte(tc.text), nil },
		})
		if tc.fail != "" {
			wantError(t, tc.name, err, criconfig.ReasonContainerConfig, "env[X]")
			if err != nil && !strings.Contains(err.Error(), tc.fail) {
				t.Errorf("%s: %v, want %q in it", tc.name, err, tc.fail)
			}
			continue
		}
		if err != nil || len(vars) != 1 || vars[0].Value != tc.want {
			t.Errorf("%s: %d variables, %v", tc.name, len(vars), err)
		}
	}
}

// TestEnvFileIsReadOnce: in the past, each of a pod's thousands of variables read the whole file, up to its own line.
func TestEnvFileIsReadOnce(t *testing.T) {
	const n = 20_000
	var text strings.Builder
	pod := examplePod()
	c := &pod.Spec.Containers[0]
	c.Env = nil
	for i := range n {
		name := fmt.Sprint("V", i)
		fmt.Fprintf(&text, "%s='%d'\n", name, i)
		v := fromFile(name, nil)
		v.Name = name
		c.Env = append(c.Env, v)
	}
	reads := 0
	vars, err := criconfig.Env(t.Context(), pod, c, criconfig.EnvInput{File: func(string, string) ([]byte, error) {
		reads++
		return []byte(text.String()), nil
	}})
	if err != nil || reads != 1 || len(vars) != n || vars[n-1].Value != fmt.Sprint(n-1) {
		t.Errorf("%d reads, %d variables, %v", reads, len(vars), err)
	}
}

// doubling returns variables, each twice as long as the previous.
func doubling(n int) []v1.EnvVar {
	env := []v1.EnvVar{{Name: "V0", Value: "x"}}
	for i := range n {
		env = append(env, v1.EnvVar{Name: fmt.Sprint("V", i+1), Value: fmt.Sprintf("$(V%d)$(V%d)", i, i)})
	}
	return env
}

func TestTextIsBounded(t *testing.T) {
	const tooLong = "longer than 8 MiB"
	big := strings.Repeat("x", 1<<20)
	for _, tc := range []struct {
		name        string
		from        []v1.EnvFromSource
		env         []v1.EnvVar
		in          criconfig.EnvInput
		field, text string
	}{
		// 2^1000 bytes.
		{name: "doubling", env: doubling(1000), field: "env[V22]", text: tooLong},
		{name: "one name again and again", env: func() (env []v1.EnvVar) {
			for range 100 {
				env = append(env, v1.EnvVar{Name: "A", Value: big})
			}
			return env
		}(), field: "env[A]", text: tooLong},
		{name: "a large value under many names", env: func() (env []v1.EnvVar) {
			for i := range 10_000 {
				v := fromFile("X", nil)
				v.Name = fmt.Sprint("V", i)
				env = append(env, v)
			}
			return env
		}(), in: criconfig.EnvInput{File: func(string, string) ([]byte, error) { return []byte("X='" + big + "'"), nil }}, field: "env[V7]", text: tooLong},
		{name: "many large files", env: func() (env []v1.EnvVar) {
			for i := range 10_000 {
				v := fromFile("X", nil)
				v.Name, v.ValueFrom.FileKeyRef.Path = fmt.Sprint("V", i), fmt.Sprint("f", i)
				env = append(env, v)
			}
			return env
		}(), in: criconfig.EnvInput{File: func(string, string) ([]byte, error) { return []byte("X='v' #" + big[:1<<20-8]), nil }}, field: "env[V8]", text: tooLong},
		{name: "services", in: criconfig.EnvInput{Services: func() (vars []criconfig.Var) {
			for i := range 100 {
				vars = append(vars, criconfig.Var{Name: fmt.Sprint("S", i), Value: big})
			}
			return vars
		}()}, field: "enableServiceLinks", text: tooLong},
		{name: "nothing to expand", env: []v1.EnvVar{{Name: "A", Value: strings.Repeat("$(", 1<<20)}, {Name: "B", Value: strings.Repeat("$a", 1<<20)}}},
	} {
		pod := examplePod()
		c := &pod.Spec.Containers[0]
		c.EnvFrom, c.Env = tc.from, tc.env
		_, err := criconfig.Env(t.Context(), pod, c, tc.in)
		if tc.field == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		wantError(t, tc.name, err, criconfig.ReasonContainerConfig, tc.field)
		if err != nil && !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v, want %q in it", tc.name, err, tc.text)
		}
	}
}

func TestCommandIsBounded(t *testing.T) {
	pod := examplePod()
	c := &pod.Spec.Containers[0]
	c.Command, c.Args, c.VolumeMounts = []string{"/bin/run", "$(A)"}, nil, nil
	for range 10_000 {
		c.Args = append(c.Args, "$(A)$(A)")
	}
	in := criconfig.ContainerInput{Env: []criconfig.Var{{Name: "A", Value: strings.Repeat("x", 1<<20)}}}
	_, err := criconfig.Container(pod, c, criconfig.Node{}, in)
	wantError(t, "args", err, criconfig.ReasonContainerConfig, "args[2]")
	if _, err := criconfig.Command(c.Args, []v1.EnvVar{{Name: "A", Value: in.Env[0].Value}}); err == nil || !strings.HasPrefix(err.Error(), "command[4]: ") {
		t.Errorf("of a probe: %v", err)
	}
	if _, err := criconfig.SubPath(&v1.VolumeMount{SubPathExpr: "$(A)"}, in.Env); err == nil || !strings.Contains(err.Error(), "longer than 4096 bytes") {
		t.Errorf("subPathExpr: %v", err)
	}
}

func TestDNSOptionsAreLinear(t *testing.T) {
	const n = 200_000
	pod := examplePod()
	pod.Spec.DNSPolicy, pod.Spec.DNSConfig = v1.DNSNone, &v1.PodDNSConfig{}
	var text strings.Builder
	for i := range n {
		pod.Spec.DNSConfig.Options = append(pod.Spec.DNSConfig.Options, v1.PodDNSConfigOption{Name: fmt.Sprint("o", i)})
		pod.Spec.DNSConfig.Searches = append(pod.Spec.DNSConfig.Searches, fmt.Sprint("s", i))
		fmt.Fprintf(&text, "options h%d\n", i)
	}
	host, err := criconfig.ParseResolvConf([]byte(text.String()))
	if err != nil || len(host.Options) != n {
		t.Fatal(err)
	}
	if cfg, _ := criconfig.DNS(pod, criconfig.DNSInput{Host: host}); len(cfg.Options) != n || len(cfg.Searches) != 32 {
		t.Errorf("%d options, %d searches", len(cfg.Options), len(cfg.Searches))
	}
}
