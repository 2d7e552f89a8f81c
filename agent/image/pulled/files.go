package pulled

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1alpha1 "k8s.io/kubelet/config/v1alpha1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	kjson "sigs.k8s.io/json"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

type (
	record      = kubeletv1beta1.ImagePulledRecord
	intent      = kubeletv1beta1.ImagePullIntent
	credentials = kubeletv1beta1.ImagePullCredentials
)

const prefix = "sha256-"

// filename returns the name of the record of an image ID, or of the pull of an image's name.
func filename(key string) string { return fmt.Sprintf("%s%x", prefix, sha256.Sum256([]byte(key))) }

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: kubeletv1beta1.SchemeGroupVersion.String()}
}

// read decodes a file into v, whose type meta describes. False means that the file does not exist.
func read(path, kind string, v any, meta *metav1.TypeMeta) (bool, error) {
	raw, err := wholefile.Read(path, wholefile.Large)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := parse(raw, kind, v, meta); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// parse decodes a file's content into v, whose type meta describes. Fields that are not known are an error: a later version may have written
// there who may not use the image.
func parse(raw []byte, kind string, v any, meta *metav1.TypeMeta) error {
	unknown, err := kjson.UnmarshalStrict(raw, v)
	if err = errors.Join(append(unknown, err)...); err != nil {
		return err
	}
	version := meta.APIVersion == kubeletv1beta1.SchemeGroupVersion.String() || meta.APIVersion == kubeletv1alpha1.SchemeGroupVersion.String()
	if meta.Kind != kind || !version { // both versions have the same fields
		return fmt.Errorf("is a %s of %s, want a %s of %s", meta.Kind, meta.APIVersion, kind, kubeletv1beta1.SchemeGroupVersion)
	}
	return nil
}

// write replaces a file atomically and durably: if a crash lost the record of an image, the image would count as not
// pulled by any pod, and all pods could use it.
func write(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return wholefile.Write(path, append(raw, '\n'), 0o600)
}

// list returns the paths of all finished files of a directory.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, wholefile.Unfinished) {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, err
}

// remove removes a file, if it exists.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
