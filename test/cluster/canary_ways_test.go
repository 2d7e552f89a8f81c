package cluster

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
)

// The ways by which secrets come to a node: each has its own, so that one that gets out says how.

// its is where the manifest of a pod, or what a container itself said, may be read.
const its = `^(10255)?/pods|^API `

// bootstrapToken makes a bootstrap token, and returns a kubeconfig with it, and one with a token that is not known.
func (c *canaries) bootstrapToken(dir string) (good, wrong string) {
	c.t.Helper()
	id, secret := rand.String(6), mark+"boot"+rand.String(4)
	c.watch("boot", "", spelled(secret)...)
	o := metav1.CreateOptions{}
	_, err := c.bench.client.CoreV1().Secrets("kube-system").Create(c.t.Context(), &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: v1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:kubeloupe-lab"},
	}, o)
	must(c.t, err)
	token := regexp.MustCompile(`token: \S+`)
	text := read(c.t, c.bench.BootstrapKubeconfig)
	if !token.MatchString(text) {
		c.t.Fatalf("the bootstrap kubeconfig has no token: %s", text)
	}
	good, wrong = filepath.Join(dir, "good"), filepath.Join(dir, "wrong")
	must(c.t, os.WriteFile(good, []byte(token.ReplaceAllString(text, "token: "+id+"."+secret)), 0o600))
	// This one is in a file, as cloud images have it.
	must(c.t, os.WriteFile(filepath.Join(dir, "token"), []byte(rand.String(6)+"."+c.secret("bootfile")+"\n"), 0o600))
	must(c.t, os.WriteFile(wrong, []byte(token.ReplaceAllString(text, "tokenFile: "+filepath.Join(dir, "token"))), 0o600))
	return good, wrong
}

// objects makes what pods refer to.
func (c *canaries) objects(s *space, registry string) {
	c.t.Helper()
	login := base64.StdEncoding.EncodeToString([]byte(c.secret("puller") + ":" + c.secret("pullpw")))
	for _, secret := range []*v1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{
			"key": c.secret("key"), "dir": c.secret("dir"), "pin": pin, "prog": c.secret("prog"), "print": c.secret("print"),
			"odd": c.odd("odd") + "\nand a second line " + c.secret("line") + "\n", "file": "[db]\npassword = " + c.secret("file") + "\n",
			"quoted": c.odd("quoted"), "last": c.secret("last"), "env": c.secret("envfile"), "said": c.secretBut("said", its+`|^Event`),
			"long": strings.Repeat(c.secret("long")+"/", 200), "span": c.odd("span"),
		}, Data: map[string][]byte{"binary": []byte(c.secret("binary") + "\xff\xfe\x01" + c.secret("binarytail"))}},
		{ObjectMeta: metav1.ObjectMeta{Name: "all"}, StringData: map[string]string{"MYSQL_PWD": c.secret("mysql"), "ENCRYPTION_KEY": c.secret("encryption")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "login"}, Type: v1.SecretTypeDockerConfigJson, StringData: map[string]string{
			v1.DockerConfigJsonKey: fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, registry+"/private", login),
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "oldlogin"}, Type: v1.SecretTypeDockercfg, StringData: map[string]string{
			v1.DockerConfigKey: fmt.Sprintf(`{%q:{"username":%q,"password":%q,"email":"a@b.example"}}`, registry+"/old", c.secret("oldpuller"), c.secret("oldpullpw")),
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "csi"}, StringData: map[string]string{"password": c.odd("csi")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "stage"}, StringData: map[string]string{"key": c.odd("stage")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "publish"}, StringData: map[string]string{"key": c.odd("publish")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "expand"}, StringData: map[string]string{"key": c.odd("expand")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "changed"}, StringData: map[string]string{"key": c.odd("changed")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, StringData: map[string]string{"key": c.secret("kept")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "resized"}, StringData: map[string]string{"key": c.secret("resized")}},
		{ObjectMeta: metav1.ObjectMeta{Name: "debugged"}, StringData: map[string]string{"key": c.odd("debugged")}},
	} {
		_, err := s.client.CoreV1().Secrets(s.name).Create(c.t.Context(), secret, metav1.CreateOptions{})
		must(c.t, err)
	}
	c.claim(s, "staged")
	c.claim(s, "published")
	c.claim(s, "expanded")
	c.grown(s, "expanded")
	c.sign()
}

// claim makes a volume of the driver, and its claim.
func (c *canaries) claim(s *space, name string) {
	c.t.Helper()
	full, size := s.name+"-"+name, v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	ref := func(secret string) *v1.SecretReference { return &v1.SecretReference{Namespace: s.name, Name: secret} }
	_, err := s.client.CoreV1().PersistentVolumes().Create(c.t.Context(), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: full},
		Spec: v1.PersistentVolumeSpec{
			Capacity: size, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			ClaimRef: &v1.ObjectReference{Namespace: s.name, Name: name},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: canaryDriver, VolumeHandle: name, NodeStageSecretRef: ref("stage"), NodePublishSecretRef: ref("publish"), NodeExpandSecretRef: ref("expand"),
				ControllerExpandSecretRef: ref("nobody"), ControllerPublishSecretRef: ref("nobody"), // not for nodes: it may not even ask for them
			}},
		},
	}, metav1.CreateOptions{})
	must(c.t, err)
	c.undo(func() error {
		return s.client.CoreV1().PersistentVolumes().Delete(noDeadline(c.t), full, metav1.DeleteOptions{})
	})
	_, err = s.client.CoreV1().PersistentVolumeClaims(s.name).Create(c.t.Context(), &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: new(""), VolumeName: full,
			Resources: v1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	must(c.t, err)
}

func fromKey(key string) *v1.EnvVarSource {
	return &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "s"}, Key: key}}
}

// env is an environment with secrets under innocent names, and a literal under one that is not.
func (c *canaries) env() []v1.EnvVar {
	return []v1.EnvVar{
		{Name: "KEY", ValueFrom: fromKey("key")},
		{Name: "DATABASE_URL", Value: "pg://app:$(KEY)@db"},
		{Name: "DIR", ValueFrom: fromKey("dir")},
		{Name: "PIN", ValueFrom: fromKey("pin")},
		{Name: "ODD", ValueFrom: fromKey("odd")},
		{Name: "PROG", ValueFrom: fromKey("prog")},
		{Name: "PRINT", ValueFrom: fromKey("print")},
		{Name: "DB_PASSWORD", Value: c.secretBut("named", its)},
	}
}

// header is one that says who asks.
func (c *canaries) header(way string) []v1.HTTPHeader {
	return []v1.HTTPHeader{{Name: "Authorization", Value: "Bearer " + c.secretBut(way, its)}, {Name: "X-Api-Key", Value: c.secretBut(way+"key", its)}}
}

// ways are the pods that use the secrets, and what is said of each, in Kubernetes' events or its status, when that has happened which tells
// of them.
func (c *canaries) ways(registry string) (pods []*v1.Pod, said map[string]string) {
	said = map[string]string{}
	add := func(p *v1.Pod, words string) *v1.Pod {
		pods = append(pods, p)
		said[p.Name] = words
		return p
	}
	c.main(add(pod("ways", forever), "Unhealthy"))
	for name, from := range map[string]string{"command": "prog", "quoted": "quoted", "long": "long"} {
		p := add(pod(name, ""), "exec: ")
		p.Spec.Containers[0].Env = append(c.env(), v1.EnvVar{Name: "COMMAND", ValueFrom: fromKey(from)})
		p.Spec.Containers[0].Command, p.Spec.Containers[0].Args = []string{"$(COMMAND)"}, []string{"$(DATABASE_URL)"}
	}
	binary := add(pod("binary", ""), "Failed")
	binary.Spec.Containers[0].Env = []v1.EnvVar{{Name: "BINARY", ValueFrom: fromKey("binary")}}
	binary.Spec.Containers[0].Command = []string{"$(BINARY)"}
	c.fileEnv(add(pod("envfile", ""), "exec: "))
	hook := add(pod("hook", forever), "FailedPostStartHook")
	hook.Spec.Containers[0].Env = c.env()
	hook.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{
		Command: []string{"sh", "-c", "echo $PRINT; echo $KEY >&2; exit 3"},
	}}}
	web := add(pod("webhook", forever), "FailedPostStartHook")
	web.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{
		Path: "/hook?of=it", Port: intstr.FromInt32(1), HTTPHeaders: c.header("hookheader"),
	}}}
	last := add(pod("last", "trap : TERM; sleep 1000 & wait"), "Started")
	last.Spec.Containers[0].Env = []v1.EnvVar{{Name: "LAST", ValueFrom: fromKey("last")}}
	last.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "echo $LAST; echo $LAST >&2; exit 4"}}}}
	term := add(pod("said", "echo $SAID; echo $SAID >/dev/termination-log; exit 5"), "BackOff")
	term.Spec.Containers[0].Env = []v1.EnvVar{{Name: "SAID", ValueFrom: fromKey("said")}}
	inline := add(pod("csi", forever), "refuses")
	mounting(inline, v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: canaryDriver, NodePublishSecretRef: &v1.LocalObjectReference{Name: "csi"}}})
	for _, name := range []string{"staged", "published", "expanded"} {
		mounting(add(pod(name, forever), "refuses"), v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}})
	}
	for name, login := range map[string]string{"private": "login", "old": "oldlogin", "provided": "", "account": "", "signed": ""} {
		p := add(pod(name, forever), "Failed to pull")
		p.Spec.Containers[0].Image = registry + "/" + name + "/image:1"
		if login != "" {
			p.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: login}}
		}
		if name == "account" { // the node may ask for tokens for whom a pod of its names
			mounting(p, v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
				{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", Audience: "canary"}},
			}}})
		}
	}
	return pods, said
}

func mounting(p *v1.Pod, from v1.VolumeSource) {
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "v", MountPath: "/v"})
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "v", VolumeSource: from})
}

// main is a pod that runs, and uses all that a running one can.
func (c *canaries) main(p *v1.Pod) {
	p.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"spec":"` + c.secretBut("applied", its) + `"}`}
	main := &p.Spec.Containers[0]
	main.Env = append(c.env(), v1.EnvVar{Name: "SPAN", ValueFrom: fromKey("span")})
	main.EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "all"}}}}
	main.Args = []string{"$(DATABASE_URL)", "--odd=$(ODD)", "--pin=$(PIN)"}
	main.ReadinessProbe = &v1.Probe{PeriodSeconds: 4, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{
		Command: []string{"sh", "-c", "echo $PRINT; echo $ODD >&2; exit 1"},
	}}}
	main.Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "echo $PRINT"}}}}
	main.VolumeMounts = []v1.VolumeMount{
		{Name: "data", MountPath: "/data", SubPathExpr: "$(DIR)"}, {Name: "secret", MountPath: "/secret"}, {Name: "both", MountPath: "/both"},
	}
	p.Spec.Volumes = []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: "secret", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "s"}}},
		{Name: "both", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{Secret: &v1.SecretProjection{LocalObjectReference: v1.LocalObjectReference{Name: "all"}}},
			{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}},
		}}}},
	}
	// One that Kubernetes expands nothing in, with a header that says who asks.
	side := container("side", forever)
	side.LivenessProbe = &v1.Probe{PeriodSeconds: 1, FailureThreshold: 1000, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
		Path: "/health?token=$(KEY)", Port: intstr.FromInt32(1), HTTPHeaders: c.header("probeheader"),
	}}}
	side.Env = c.env()
	p.Spec.Containers = append(p.Spec.Containers, side)
}

// fileEnv has an init container write a file of variables, of which one becomes a command.
func (c *canaries) fileEnv(p *v1.Pod) {
	init := container("init", `printf "VALUE='%s'\n" "$ENV" >/env/file`)
	init.Env = []v1.EnvVar{{Name: "ENV", ValueFrom: fromKey("env")}}
	init.VolumeMounts = []v1.VolumeMount{{Name: "env", MountPath: "/env"}}
	p.Spec.InitContainers = []v1.Container{init}
	p.Spec.Volumes = []v1.Volume{{Name: "env", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	main := &p.Spec.Containers[0]
	main.Env = []v1.EnvVar{
		{Name: "VALUE", ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "env", Path: "file", Key: "VALUE"}}},
		{Name: "TWICE", Value: "$(VALUE)-$(VALUE)"},
	}
	main.Command, main.Args = []string{"$(TWICE)"}, []string{"$(VALUE)"}
}
