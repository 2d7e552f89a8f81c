package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/pflag"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

var update = flag.Bool("update", false, "rewrite the error sections in testdata/load")

// parse returns the flags of a command line, with an empty environment.
func parse(t testing.TB, args ...string) *Flags {
	t.Helper()
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f := AddFlags(fs)
	f.Getenv = func(string) string { return "" }
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLoad runs the cases in testdata/load. Each is a txtar archive: a description, the files, and
//
//	flags         one argument a line; $DIR is the directory of the files
//	env           CONTAINER_RUNTIME_ENDPOINT
//	want          lines FIELD=VALUE; FIELD is a path in Config
//	not-acted-on  Config.NotActedOn, one per line
//	error         the whole error
func TestLoad(t *testing.T) {
	cases, err := filepath.Glob("testdata/load/*.txt")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			section := map[string]string{}
			for _, f := range archive.Files {
				switch f.Name {
				case "flags", "env", "want", "not-acted-on", "error":
					section[f.Name] = strings.ReplaceAll(strings.TrimSuffix(string(f.Data), "\n"), "$DIR", dir)
				default:
					path := filepath.Join(dir, f.Name)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, f.Data, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			flags := parse(t, strings.Fields(section["flags"])...)
			flags.Getenv = func(string) string { return section["env"] }

			c, err := Load(flags)
			message := ""
			if err != nil {
				message = err.Error()
				if _, ok := errors.AsType[*Errors](err); !ok {
					t.Errorf("error is a %T", err)
				}
			}
			if *update {
				rewrite(t, name, archive, strings.ReplaceAll(message, dir, "$DIR"))
				return
			}
			if diff := cmp.Diff(section["error"], message); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			for line := range strings.Lines(section["want"]) {
				field, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
				if got := lookup(t, c, field); got != want {
					t.Errorf("%s = %s, want %s", field, got, want)
				}
			}
			if diff := cmp.Diff(section["not-acted-on"], ignored(c.NotActedOn)); diff != "" {
				t.Errorf("not acted on (-want +got):\n%s", diff)
			}
		})
	}
}

// rewrite replaces the case's error section.
func rewrite(t *testing.T, name string, archive *txtar.Archive, message string) {
	t.Helper()
	for i, f := range archive.Files {
		if f.Name == "error" {
			archive.Files[i].Data = []byte(message + "\n")
			if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func lookup(t *testing.T, c *Config, field string) string {
	t.Helper()
	v := reflect.ValueOf(c)
	for name := range strings.SplitSeq(field, ".") {
		if v = reflect.Indirect(v).FieldByName(name); !v.IsValid() {
			t.Fatalf("Config has no field %s", field)
		}
	}
	if v = reflect.Indirect(v); !v.IsValid() {
		return "<nil>"
	}
	return fmt.Sprint(v.Interface())
}

// Every field of KubeletConfiguration is either acted on or reported.
func TestEveryFieldIsInTheTable(t *testing.T) {
	want := slices.DeleteFunc(leafPaths(reflect.TypeFor[kubeletv1beta1.KubeletConfiguration](), ""), func(p string) bool {
		return p == "apiVersion" || p == "kind"
	})
	tables := slices.AppendSeq(slices.Collect(maps.Keys(actedOn())), maps.Keys(ignoredFields()))
	slices.Sort(tables)
	if diff := cmp.Diff(want, tables); diff != "" {
		t.Errorf("fields of KubeletConfiguration (-) and of both tables (+):\n%s", diff)
	}
	for path, why := range ignoredFields() {
		if why == "" {
			t.Errorf("%s: no reason", path)
		}
	}
}

// ignored has a line for each setting, with the reason.
func ignored(all []Ignored) string {
	var lines []string
	for _, i := range all {
		lines = append(lines, i.Name+": "+i.Why)
	}
	return strings.Join(lines, "\n")
}

// Every flag of the kubelet parses.
func TestEveryFlag(t *testing.T) {
	list, err := os.ReadFile("testdata/kubelet-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(list)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	AddFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) { got = append(got, f.Name) })
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kubelet's flags (-) and ours (+):\n%s", diff)
	}
}

// For every field flag with a default, setting the flag to it is accepted and yields the default.
func TestFlagsRoundTripTheirDefault(t *testing.T) {
	plain, err := Load(parse(t))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, f := range parse(t).fields {
		if f.def != "" {
			args = append(args, "--"+f.name+"="+f.def)
		}
	}
	given, err := Load(parse(t, args...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain.Kubelet, given.Kubelet); diff != "" {
		t.Errorf("defaults (-) and the same by flags (+):\n%s", diff)
	}
}

// Files of services have flags with underscores, which the kubelet accepts.
func TestFlagsWithUnderscores(t *testing.T) {
	f := parse(t, "--max_pods=7", "--node_labels=a=b", "--housekeeping_interval=1s")
	c, err := Load(f)
	if err != nil {
		t.Fatal(err)
	}
	if c.Kubelet.MaxPods != 7 || f.node.labels["a"] != "b" {
		t.Errorf("got %d pods, labels %v", c.Kubelet.MaxPods, f.node.labels)
	}
	if want := []Ignored{{"--housekeeping-interval", ignoredFlags()["housekeeping-interval"]}}; !slices.Equal(c.NotActedOn, want) {
		t.Errorf("not acted on: %v, want %v", c.NotActedOn, want)
	}
}

func TestDefaultsAreComplete(t *testing.T) {
	c, err := Load(parse(t))
	if err != nil {
		t.Fatal(err)
	}
	// Upstream does not set these either.
	unset := []string{
		"StaticPodURLHeader", "TLSCipherSuites", "TLSCurvePreferences", "PreloadedImagesVerificationAllowlist", "ClusterDNS",
		"SingleProcessOOMKill", "CPUManagerPolicyOptions", "TopologyManagerPolicyOptions", "QOSReserved",
		"MaxParallelImagePulls", "EvictionSoft", "EvictionSoftGracePeriod", "EvictionMinimumReclaim", "FeatureGates",
		"SystemReserved", "KubeReserved", "AllowedUnsafeSysctls", "DefaultPodSysctls", "EnableSystemLogQuery",
		"ShutdownGracePeriodByPodPriority", "ReservedMemory", "MemoryThrottlingFactor", "RegisterWithTaints", "Tracing",
		"UserNamespaces",
	}
	v := reflect.ValueOf(c.Kubelet).Elem()
	var got []string
	for i := range v.NumField() {
		nilable := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Map, reflect.Slice}, v.Field(i).Kind())
		if nilable && v.Field(i).IsNil() {
			got = append(got, v.Type().Field(i).Name)
		}
	}
	if diff := cmp.Diff(unset, got); diff != "" {
		t.Errorf("fields without a default (-want +got):\n%s", diff)
	}
	if len(c.NotActedOn) > 0 {
		t.Errorf("not acted on without any setting: %v", c.NotActedOn)
	}
}

func TestHelpHidesWhatIsNotActedOn(t *testing.T) {
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	AddFlags(fs)
	help := fs.FlagUsages()
	for flag, want := range map[string]bool{"--max-pods int": true, "--eviction-hard": true, "--kubeconfig": true, "--runtime-cgroups": true, "--cloud-provider": true, "--housekeeping-interval": false, "--sync-frequency": false, "(default 110)": true} {
		if got := strings.Contains(help, flag); got != want {
			t.Errorf("help mentions %s: %t", flag, got)
		}
	}
}

func TestBadFlagValues(t *testing.T) {
	for arg, want := range map[string]string{
		"--max-pods=many":                   "must be a whole number of at most 32 bits",
		"--max-pods=4294967296":             "must be a whole number of at most 32 bits",
		"--sync-frequency=5":                "must be a duration such as 1m30s",
		"--cgroups-per-qos=maybe":           "must be true or false",
		"--eviction-hard=memory.available":  `"memory.available" must be written key<value`,
		"--feature-gates=NodeSwap=2":        "NodeSwap must be true or false",
		"--reserved-memory=1Gi":             "must be written NODE:TYPE=QUANTITY",
		"--reserved-memory=0:memory=x":      `"x" is not a quantity`,
		"--register-with-taints=a=b":        "must be written KEY=VALUE:EFFECT",
		"--register-with-taints=a:E,a=b:E":  `"a=b:E": there is a taint with the same key and effect`,
		"--log-text-info-buffer-size=large": "large",
	} {
		fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
		fs.SetOutput(io.Discard)
		AddFlags(fs)
		if err := fs.Parse([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

// TestNodeIP: --node-ip is one address, or one of each family. One that only selects a family is the only one.
func TestNodeIP(t *testing.T) {
	for arg, want := range map[string]string{
		"10.0.0.1": "", "::": "", "0.0.0.0": "", "10.0.0.1,fd00::1": "", " fd00::1 , 10.0.0.1": "",
		"10.0.0.1,::":              "--node-ip: :: only selects a family and must be the only address",
		"0.0.0.0,fd00::1":          "--node-ip: 0.0.0.0 only selects a family and must be the only address",
		"fe80::1%eth0":             `--node-ip: "fe80::1%eth0" is not an IP address`,
		"10.0.0.1,fd00::1,fd00::2": "--node-ip: takes one address, or one of each family",
	} {
		_, err := Load(parse(t, "--node-ip="+arg, "--container-runtime-endpoint=unix:///run/x.sock"))
		if got := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(got, want) && want != "" {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

// FuzzLoad feeds arbitrary files to Load; nothing may panic, and every error has a line.
func FuzzLoad(f *testing.F) {
	const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
	for _, s := range []string{
		"", "{}", "- a", head, head + "maxPods: 3\nevictionHard: {memory.available: 1Gi}\n", "\x00", "a: &a\n  <<: *a\n",
		head + "logging: &x\n  <<: *x\n", head + "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n",
		head + "registerWithTaints: [{key: a, effect: NoSchedule, timeAdded: 2026-01-02T15:04:05Z}]\n",
		head + "memoryThrottlingFactor: .nan\ntracing: {endpoint: '%zz'}\nuserNamespaces: {idsPerPod: 1}\n",
		`{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","featureGates":{"NodeSwap":false}}`,
	} {
		f.Add([]byte(s), []byte(s))
	}
	flags := parse(f)
	f.Fuzz(func(t *testing.T, main, dropin []byte) {
		c, err := build(&source{"main", main}, []source{{"dropin", dropin}}, flags, newReport())
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v and error %v", c, err)
		}
		if err == nil {
			return
		}
		e, ok := errors.AsType[*Errors](err)
		if !ok || strings.Count(err.Error(), "\n") != len(e.Problems) {
			t.Fatalf("not one line for each problem: %q", err)
		}
	})
}

// Labels are taken as the kubelet takes them.
func TestNodeLabels(t *testing.T) {
	for _, c := range []struct {
		args, want []string
	}{
		{nil, nil},
		{[]string{"--node-labels=foo"}, []string{"foo="}},
		{[]string{"--node-labels= zone = a ,, disk=ssd"}, []string{"disk=ssd", "zone=a"}},
		{[]string{"--node-labels=a=1,b=2", "--node-labels=b=3,c"}, []string{"a=1", "b=3", "c="}},
		{[]string{"--node-labels=a=b=c"}, []string{"a=b=c"}},
	} {
		f := parse(t, c.args...)
		if got := f.set.Lookup("node-labels").Value.String(); got != strings.Join(c.want, ",") {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
		if len(f.node.labels) != len(c.want) {
			t.Errorf("%q: %v, want %q", c.args, f.node.labels, c.want)
		}
	}
}
