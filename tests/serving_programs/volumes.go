package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Time after which changes of Secrets and ConfigMaps are in containers; a minute and more in clusters.
const refreshInterval = 2 * time.Second

// mount is a file or folder that a container has at another path.
type mount struct {
	source, target string
}

// mounts writes the volumes of a container whose content the cluster has: ConfigMaps, Secrets, tokens
// and the downward API. Others have no content that a test reads.
func (p *pod) mounts(spec core.Container, program *program) ([]mount, error) {
	hosts, resolver := filepath.Join(p.folder, "hosts"), filepath.Join(p.folder, "resolv.conf")
	// The kubelet may have written the names of pods already.
	if file, err := os.OpenFile(hosts, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
		fmt.Fprintln(file, "127.0.0.1 localhost")
		file.Close()
	}
	// Without servers in it, names that /etc/hosts does not have are unknown at once.
	if err := os.WriteFile(resolver, nil, 0o644); err != nil {
		return nil, err
	}
	mounts := []mount{{hosts, "/etc/hosts"}, {resolver, "/etc/resolv.conf"}}
	for path, source := range program.Files {
		mounts = append(mounts, mount{source, path})
	}
	for _, wanted := range spec.VolumeMounts {
		volume := p.volume(wanted.Name)
		if volume == nil {
			return nil, fmt.Errorf("no volume %s", wanted.Name)
		}
		folder := filepath.Join(p.folder, "volumes", volume.Name)
		if volume.EmptyDir != nil && len(program.Files) > 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return nil, err
			}
		} else if found, err := p.writeVolume(volume, folder); err != nil {
			return nil, err
		} else if !found {
			continue
		}
		mounts = append(mounts, mount{filepath.Join(folder, wanted.SubPath), wanted.MountPath})
	}
	return mounts, nil
}

// writeVolume writes the files of a volume as the kubelet does: behind a link that is replaced when
// they change, so that readers see all old files or all new ones. Returns false for volumes without
// content here.
func (p *pod) writeVolume(volume *core.Volume, folder string) (bool, error) {
	files, err := p.content(volume)
	if err != nil || files == nil {
		return false, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return false, err
	}
	data := filepath.Join(folder, "..data")
	if hasFiles(data, files) {
		return true, nil
	}

	version, err := os.MkdirTemp(folder, "..version")
	if err != nil {
		return false, err
	}
	if err := os.Chmod(version, 0o755); err != nil {
		return false, err
	}
	for name, content := range files {
		file := filepath.Join(version, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return false, err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return false, err
		}
	}
	old, _ := os.Readlink(data)
	if err := os.Symlink(filepath.Base(version), data+"_tmp"); err != nil {
		return false, err
	}
	if err := os.Rename(data+"_tmp", data); err != nil {
		return false, err
	}
	if old != "" {
		// Programs that watch their files learn of the change by this.
		_ = os.RemoveAll(filepath.Join(folder, old))
	}
	for name := range files {
		first, _, _ := strings.Cut(name, "/")
		link := filepath.Join(folder, first)
		if err := os.Symlink(filepath.Join("..data", first), link); err != nil && !os.IsExist(err) {
			return false, err
		}
	}
	return true, nil
}

// hasFiles returns true if a folder has these files with their content.
func hasFiles(folder string, files map[string][]byte) bool {
	if _, err := os.Stat(folder); err != nil {
		return false
	}
	for name, content := range files {
		found, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(found, content) {
			return false
		}
	}
	return true
}

// refreshVolumes writes Secrets and ConfigMaps again after they change, until the pod ends.
func (p *pod) refreshVolumes() {
	for ; ; time.Sleep(refreshInterval) {
		p.mutex.Lock()
		ending := p.ending
		p.mutex.Unlock()
		if ending {
			return
		}
		for index := range p.object.Spec.Volumes {
			volume := &p.object.Spec.Volumes[index]
			folder := filepath.Join(p.folder, "volumes", volume.Name)
			if _, err := os.Stat(folder); err != nil || volume.Secret == nil && volume.ConfigMap == nil {
				continue
			}
			// One that is gone leaves the files as they are.
			_, _ = p.writeVolume(volume, folder)
		}
	}
}

func (p *pod) volume(name string) *core.Volume {
	for index := range p.object.Spec.Volumes {
		if p.object.Spec.Volumes[index].Name == name {
			return &p.object.Spec.Volumes[index]
		}
	}
	return nil
}

// content returns the files of a volume; nil for kinds that have no content here.
func (p *pod) content(volume *core.Volume) (map[string][]byte, error) {
	files := map[string][]byte{}
	switch {
	case volume.ConfigMap != nil:
		return files, p.addConfigMap(files, volume.ConfigMap.Name, volume.ConfigMap.Items, volume.ConfigMap.Optional)
	case volume.Secret != nil:
		return files, p.addSecret(files, volume.Secret.SecretName, volume.Secret.Items, volume.Secret.Optional)
	case volume.DownwardAPI != nil:
		return files, p.addFields(files, volume.DownwardAPI.Items)
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			if err := p.addProjection(files, source); err != nil {
				return nil, err
			}
		}
		return files, nil
	}
	return nil, nil
}

func (p *pod) addProjection(files map[string][]byte, source core.VolumeProjection) error {
	switch {
	case source.ConfigMap != nil:
		return p.addConfigMap(files, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
	case source.Secret != nil:
		return p.addSecret(files, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
	case source.DownwardAPI != nil:
		return p.addFields(files, source.DownwardAPI.Items)
	case source.ServiceAccountToken != nil:
		token, err := p.token(source.ServiceAccountToken)
		files[source.ServiceAccountToken.Path] = []byte(token)
		return err
	}
	return nil
}

// token requests a token of the pod's ServiceAccount, bound to the pod.
func (p *pod) token(projection *core.ServiceAccountTokenProjection) (string, error) {
	request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{
		ExpirationSeconds: projection.ExpirationSeconds,
		BoundObjectRef: &authentication.BoundObjectReference{
			Kind: "Pod", APIVersion: "v1", Name: p.object.Name, UID: p.object.UID,
		},
	}}
	if projection.Audience != "" {
		request.Spec.Audiences = []string{projection.Audience}
	}
	accounts := p.kubelet.api.ServiceAccounts(p.object.Namespace)
	account := p.object.Spec.ServiceAccountName
	answer, err := accounts.CreateToken(context.Background(), account, request, meta.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

func (p *pod) addConfigMap(files map[string][]byte, name string, items []core.KeyToPath, optional *bool) error {
	object, err := p.configMap(name)
	if isTrue(optional) && errors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	data := map[string][]byte{}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return addKeys(files, data, items)
}

func (p *pod) addSecret(files map[string][]byte, name string, items []core.KeyToPath, optional *bool) error {
	object, err := p.secret(name)
	if isTrue(optional) && errors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return addKeys(files, object.Data, items)
}

func addKeys(files, data map[string][]byte, items []core.KeyToPath) error {
	if len(items) == 0 {
		for key, value := range data {
			files[key] = value
		}
	}
	for _, item := range items {
		value, found := data[item.Key]
		if !found {
			return fmt.Errorf("references non-existent key %s", item.Key)
		}
		files[item.Path] = value
	}
	return nil
}

func (p *pod) addFields(files map[string][]byte, items []core.DownwardAPIVolumeFile) error {
	for _, item := range items {
		if item.FieldRef == nil {
			continue
		}
		value, err := p.field(item.FieldRef.FieldPath)
		if err != nil {
			return err
		}
		files[item.Path] = []byte(value)
	}
	return nil
}

// mountScript returns a shell script that builds a root of bind mounts and runs "$@" in it with the
// hostname $0: the system's folders, or an empty root with devices and processes only; an empty /run;
// and the mounts. Mounts at paths that the system does not have are created in the new root only.
func mountScript(root string, fromScratch bool, mounts []mount) string {
	lines := []string{
		"set -e",
		"echo $0 > /proc/sys/kernel/hostname",
		"mkdir -p " + root,
		"mount -t tmpfs tmpfs " + root,
		"folders='/*'",
	}
	if fromScratch {
		lines = append(lines, "folders='/dev /proc /sys'", "mkdir "+root+"/run "+root+"/tmp "+root+"/etc")
	}
	lines = append(lines,
		"for folder in $folders; do",
		"  case $folder in /run) mkdir "+root+"/run; continue;; esac",
		"  if [ -L $folder ]; then cp -a $folder "+root+"/",
		"  elif [ -d $folder ]; then mkdir "+root+"$folder; mount --rbind $folder "+root+"$folder; fi",
		"done",
	)
	if fromScratch {
		lines = append(lines, "mkdir "+root+"/var", "ln -s /run "+root+"/var/run")
	}
	for _, mount := range mounts {
		target := path.Clean(mount.target)
		// /var/run is a link to /run.
		if rest, found := strings.CutPrefix(target, "/var/run/"); found {
			target = "/run/" + rest
		}
		target = root + target
		// A link at this path leads out of the new root, where nothing is mounted.
		create := "if [ -d " + mount.source + " ]; then mkdir -p " + target + "; else mkdir -p " +
			path.Dir(target) + " && touch " + target + "; fi"
		bind := "[ -e " + target + " ] || { " + create + "; }; mount --bind " + mount.source + " " + target
		lines = append(lines, "[ -L "+target+" ] || { "+bind+"; }")
	}
	return strings.Join(append(lines, "exec chroot "+root+` "$@"`), "\n")
}
