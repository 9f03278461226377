package dev.lite.cluster.process;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.os.UserNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrustTest {
    @TempDir
    Path directory;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "10.0.0.1:2181",
                "zk-1:2181",
                "127.0.0.1:2181,zk-2:2181",
                "localhost.example:2181",
                "[2001:db8::1]:2181"
            })
    void aZooKeeperOfAnotherHostNeedsAUser(String connectString) {
        assertThatExceptionOfType(StartException.class)
                .isThrownBy(() -> Trust.requireUser(connectString, false, false))
                .withMessageContaining(connectString)
                .withMessageContaining("lite.cluster.auth");
        Trust.requireUser(connectString, true, false);
        Trust.requireUser(connectString, false, true);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"127.0.0.1:2181", "localhost:2181", "127.0.0.1:1,127.0.0.2:2/lite", "[::1]:2181", "localhost"})
    void aZooKeeperOfThisHostNeedsNone(String connectString) {
        Trust.requireUser(connectString, false, false);
    }

    @Test
    void aSecretThatOthersMayWriteIsRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("secret"), "a secret");
        for (String mode : new String[] {"rw--w----", "rw-----w-"}) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
            assertThatExceptionOfType(StartException.class)
                    .isThrownBy(() -> Trust.checkSecretFile("lite.node.tcp.secret-file", file))
                    .withMessageContaining(file.toString())
                    .withMessageContaining("lite.node.tcp.secret-file");
        }
        for (String mode : new String[] {"rw-------", "rw-r--r--", "r--------"}) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
            Trust.checkSecretFile("lite.node.tcp.secret-file", file);
        }
        Trust.checkSecretFile("lite.node.tcp.secret-file", directory.resolve("missing"));
    }

    @Test
    void aSecretThatAnotherUserOwnsIsRefused() throws IOException {
        int owner = 12_345;
        Path file = Files.writeString(directory.resolve("secret"), "a secret");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        if (UserNamespace.ownUid() == 0) {
            Files.setAttribute(file, "unix:uid", owner);
        } else {
            owner = UserNamespace.ownUid();
        }
        int another = owner + 1;
        assertThatExceptionOfType(StartException.class)
                .isThrownBy(() -> Trust.checkOwner("lite.x.secret-file", file, another, OptionalInt.of(65_534)))
                .withMessageContaining("user id %d owns %s (lite.x.secret-file)".formatted(owner, file))
                .withMessageContaining("the owner must be this user, %d, or root".formatted(another));
        Trust.checkOwner("lite.x.secret-file", file, owner, OptionalInt.of(65_534));
        // All users that the namespace does not have look alike, also the root of the host.
        Trust.checkOwner("lite.x.secret-file", file, another, OptionalInt.of(owner));
    }
}
