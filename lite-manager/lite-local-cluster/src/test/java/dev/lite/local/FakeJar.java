package dev.lite.local;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/** Makes an executable jar of {@link FakeProcess}. */
final class FakeJar {

    private FakeJar() {}

    static Path in(Path directory) throws IOException {
        Path jar = directory.resolve("fake-exec.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, FakeProcess.class.getName());
        String entry = FakeProcess.class.getName().replace('.', '/') + ".class";
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file, manifest);
                InputStream code = FakeProcess.class.getClassLoader().getResourceAsStream(entry)) {
            if (code == null) {
                throw new IOException("no " + entry);
            }
            out.putNextEntry(new JarEntry(entry));
            code.transferTo(out);
            out.closeEntry();
        }
        return jar;
    }
}
