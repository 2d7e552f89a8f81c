package podsource

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

const web = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: c
    image: busybox:1
`

func podYAML(name string) string { return strings.ReplaceAll(web, "name: web", "name: "+name) }

func names(pods []*v1.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Namespace+"/"+p.Name)
	}
	return out
}

// The UIDs are upstream's, so that each agent recognizes the other's static pods. Those here are what v1.37.1 makes of the manifests.
func TestUIDs(t *testing.T) {
	for want, spec := range map[string]string{
		"81141e75c76dcaa7704893d071e52fb3": `{containers: [{name: c, image: "x:1", env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: a, key: B}}}]}], volumes: [{name: v, emptyDir: {}}]}`,
		"72a32db58241e53260a091d59e5038fb": `{containers: [{name: c, image: "x:1"}], volumes: [{name: d, iscsi: {targetPortal: 192.0.2.1, iqn: "iqn.2001-04.com.example:storage.kube.sys1.xyz", lun: 0}}]}`,
		"99fe2fc128927255272b3fbdff353374": `{containers: [{name: c, image: "x:1", env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.host}}}]}]}`,
		"8c358c54b5b9a72ba969266ecf02b546": `{containers: [{name: c, image: "x:1"}], imagePullSecrets: [{name: ""}]}`,
	} {
		pods, problems, _ := Decode("/etc/kubernetes/manifests/a.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: "+spec+"\n"), "n1")
		if len(pods) != 1 || string(pods[0].UID) != want {
			t.Errorf("%s\ngot %v, %v, want %s", spec, pods, problems, want)
		}
	}
}

func TestDecode(t *testing.T) {
	const asJSON = "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\",\n\t\"metadata\": {\"name\": \"web\"},\n\t\"spec\": {\"containers\": [\n\t\t{\"name\": \"c\", \"image\": \"busybox:1\", \"tty\": 1}\n\t]}\n}\n"
	cases := []struct {
		name     string
		manifest string
		pods     []string
		problems []string
	}{
		{"one", web, []string{"default/web-n1"}, nil},
		{"JSON", strings.Replace(asJSON, `, "tty": 1`, "", 1), []string{"default/web-n1"}, nil},
		{"JSON with emoji escape", strings.Replace(asJSON, `, "tty": 1`, `, "command": ["\ud83d\ude00"]`, 1), []string{"default/web-n1"}, nil},
		{"flow YAML", `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: ns}, spec: {containers: [{name: c, image: x:1}]}}`, []string{"ns/web-n1"}, nil},
		{
			"documents, comments, CRLF, BOM",
			"\xef\xbb\xbf%YAML 1.1\n# start\n---\r\n" + strings.ReplaceAll(web, "\n", "\r\n") + "--- # two\n" + podYAML("b") + "...\n---\n# nothing\n---\n" + podYAML("c"),
			[]string{"default/web-n1", "default/b-n1", "default/c-n1"},
			nil,
		},
		{
			"List",
			"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(web), "\n", "\n  ") + "\n- " + strings.ReplaceAll(strings.TrimSpace(podYAML("b")), "\n", "\n  ") + "\n",
			[]string{"default/web-n1", "default/b-n1"},
			nil,
		},
		{
			"PodList without kinds, one bad",
			"apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n  spec:\n    containers:\n    - {name: c, image: x:1}\n- metadata: {name: b}\n  spec:\n    containers:\n    - name: c\n",
			[]string{"default/a-n1"},
			[]string{"m.yaml:11: items[1].spec.containers[0].image: Required value"},
		},
		{"empty", "", nil, []string{"m.yaml: holds no pod: want a manifest with apiVersion: v1 and kind: Pod"}},
		{"a list without items", "apiVersion: v1\nkind: PodList\nitems: []\n", nil, nil},
		{"a list of a program in Go without items", `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}`, nil, nil},
		{"the begin of a list", "apiVersion: v1\nkind: PodList\n", nil, []string{"m.yaml: holds no pod: want a manifest with apiVersion: v1 and kind: Pod"}},
		{"comments only", "# soon\n---\n", nil, []string{"m.yaml: holds no pod: want a manifest with apiVersion: v1 and kind: Pod"}},
		{"not a mapping", "hello\n", nil, []string{"m.yaml:1: is not a Kubernetes object: want a mapping with apiVersion, kind, metadata, spec"}},
		{"no kind", "apiVersion: v1\nmetadata: {name: x}\n", nil, []string{"m.yaml:1: kind: is missing: want Pod"}},
		{"other kind", "---\napiVersion: apps/v1\nkind: Deployment\n", nil, []string{`m.yaml:3: kind: is "Deployment": a static pod manifest holds kind Pod, PodList or List only`}},
		{"other version", "apiVersion: v2\nkind: Pod\n", nil, []string{`m.yaml:1: apiVersion: is "v2": want v1`}},
		{"no name", strings.Replace(web, "  name: web\n", "  labels: {a: b}\n", 1), nil, []string{"m.yaml:3: metadata.name: is missing"}},
		{"syntax", strings.Replace(web, "kind: Pod", "kind: Pod: x", 1), nil, []string{"m.yaml:2: not valid YAML: mapping values are not allowed in this context"}},
		{"syntax in the second", web + "---\n" + strings.Replace(web, "kind: Pod", "kind: Pod: x", 1), []string{"default/web-n1"}, []string{"m.yaml:11: not valid YAML: mapping values are not allowed in this context"}},
		{"tab", "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: x\n", nil, []string{"m.yaml:4: not valid YAML: found character that cannot start any token (indent with spaces, not tabs)"}},
		{"broken JSON", strings.Replace(asJSON, `"v1",`, `"v1"`, 1), nil, []string{"m.yaml:2: not valid YAML: did not find expected ',' or '}'"}},
		{"unknown field instead of another", strings.Replace(web, "    image:", "    imagee:", 1), nil, []string{
			"m.yaml:8: spec.containers[0].imagee: unknown field", "m.yaml:7: spec.containers[0].image: Required value",
		}},
		{"type", web + "    command: sh\n", nil, []string{"m.yaml:9: spec.containers[0].command: is a string: want a list"}},
		{"type in JSON", asJSON, nil, []string{"m.yaml:6: spec.containers[0].tty: is a number: want true or false"}},
		{"number for a string", web + "    env:\n    - name: OK\n      value: a\n    - name: B\n      value: 5\n", nil, []string{"m.yaml:13: spec.containers[0].env[1].value: is a number: want a string (put it in quotes)"}},
		{"mapping for a list", strings.Replace(web, "  - name: c\n    image: busybox:1\n", "    name: c\n", 1), nil, []string{"m.yaml:6: spec.containers: is a mapping: want a list"}},
		{"quantity", web + "    resources:\n      limits:\n        memory: 64Megs\n", nil, []string{"m.yaml:11: spec.containers[0].resources.limits.memory: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"}},
		{"invalid", web + "    ports:\n    - containerPort: 80\n    - containerPort: 99999\n  restartPolicy: Maybe\n", nil, []string{
			`m.yaml:12: spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"`,
			`m.yaml:11: spec.containers[0].ports[1].containerPort: Invalid value: 99999: must be between 1 and 65535, inclusive`,
		}},
		{"secret", web + "  volumes:\n  - name: s\n    secret: {secretName: x}\n", nil, []string{"m.yaml:11: spec.volumes[0].secret: Forbidden: static pods may not reference secrets (via secret volumes)"}},
		{"label with dots", strings.Replace(web, "metadata:\n", "metadata:\n  annotations:\n    a.b/c: x\n    a.b/C d: z\n", 1), nil, []string{"m.yaml:4: metadata.annotations: "}},
		{"twice in one file", web + "---\n" + web, []string{"default/web-n1"}, []string{"m.yaml:13: metadata.name: pod default/web-n1 is defined twice in this file"}},
		{"aliases", strings.Replace(web, "  containers:\n  - name: c\n    image: busybox:1\n", "  initContainers:\n  - &c\n    name: c\n    imagee: x\n  containers: [*c]\n", 1), nil, []string{
			"m.yaml:9: spec.containers[0].imagee: unknown field",
			"m.yaml:9: spec.initContainers[0].imagee: unknown field",
			"m.yaml:10: spec.containers[0].image: Required value",
			`m.yaml:8: spec.initContainers[0].name: Duplicate value: "c"`,
			"m.yaml:7: spec.initContainers[0].image: Required value",
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pods, problems, _ := Decode("m.yaml", []byte(c.manifest), "n1")
			if d := cmp.Diff(c.pods, names(pods)); d != "" {
				t.Errorf("pods (-want +got):\n%s", d)
			}
			var got []string
			for i, p := range problems {
				text := p.Error()
				if i < len(c.problems) && strings.HasSuffix(c.problems[i], ": ") && strings.HasPrefix(text, c.problems[i]) {
					text = c.problems[i] // only the beginning is our text
				}
				got = append(got, text)
			}
			if d := cmp.Diff(c.problems, got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

func TestDecodeIsStable(t *testing.T) {
	first, _, _ := Decode("m.yaml", []byte(web), "n1")
	second, _, _ := Decode("m.yaml", []byte(web), "n1")
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("the same manifest gives two pods:\n%s", d)
	}
	if p := first[0]; p.Spec.RestartPolicy != v1.RestartPolicyAlways || p.Spec.NodeName != "n1" || p.UID == "" {
		t.Errorf("not defaulted or identified: %+v", p.Spec)
	}
}

// Fields that are not used are warnings, as with the kubelet, which ignores them.
func TestDecodeWarnings(t *testing.T) {
	list := "apiVersion: v1\nkind: PodList\nextra: 1\nitems:\n- metadata: {name: a}\n  spec: {containers: [{name: c, image: x}], oops: 1}\n"
	for _, c := range []struct {
		name, manifest string
		want           []string
	}{
		{"none", web, nil},
		{"two unknown", web + "  contaners: []\nspecs: {}\n", []string{"m.yaml:9: spec.contaners: unknown field: ignored", "m.yaml:10: specs: unknown field: ignored"}},
		{"given twice", web + "kind: Pod\n", []string{`m.yaml:9: key "kind" already set in map: the last value counts`}},
		{"given twice in JSON", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"w","name":"web"},"spec":{"containers":[{"name":"c","image":"x"}]}}`, []string{
			"m.yaml:1: metadata.name: is given twice: the last value counts",
		}},
		{"in a list", list, []string{"m.yaml:3: extra: unknown field: ignored", "m.yaml:6: items[0].spec.oops: unknown field: ignored"}},
	} {
		pods, problems, warnings := Decode("m.yaml", []byte(c.manifest), "n1")
		var got []string
		for _, w := range warnings {
			got = append(got, w.Error())
		}
		if d := cmp.Diff(c.want, got); d != "" || len(problems) > 0 || len(pods) != 1 {
			t.Errorf("%s: %d pods, problems %v, warnings (-want +got):\n%s", c.name, len(pods), problems, d)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(web))
	f.Add([]byte("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"}]}"))
	f.Add([]byte(web + "---\nspec: {containers: [{resources: {limits: {cpu: x}}}]}\nkind: Pod\napiVersion: v1\n"))
	f.Add([]byte("a: &a [*a]\n...\n--- x\n"))
	f.Add([]byte("a: &a {x: y}\nb: &b [*a, *a]\nc: [*b, *b, *c]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pods, problems, warnings := Decode("m", data, "n1")
		if len(warnings) > maxProblems+1 {
			t.Errorf("%d warnings", len(warnings))
		}
		if len(pods) == 0 && len(problems) == 0 {
			t.Error("neither a pod nor a problem")
		}
		if len(problems) > maxProblems+1 || len(pods) > maxDocuments {
			t.Errorf("%d problems, %d pods", len(problems), len(pods))
		}
		for _, p := range problems {
			if p.Message == "" || p.Path != "m" {
				t.Errorf("problem says nothing: %+v", p)
			}
		}
		for _, p := range pods {
			if p.UID == "" || p.Name == "" || p.Namespace == "" {
				t.Errorf("pod without identity: %s", p.Name)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, problems, _ := Decode("m.yaml", []byte(web), "n1"); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
