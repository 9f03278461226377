package dev.lite.node;

import dev.lite.api.Priority;
import dev.lite.cluster.process.Trust;
import dev.lite.tier.NameRules;
import dev.lite.tier.session.PrincipalPolicy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Identity of an application. All configured values must match.
 *
 * @param name Name of the application in permissions.
 * @param uid User id of its process. Default: any.
 * @param token Secret that the application must send. Default: none is required.
 * @param tokenFile File with the token, instead of the property; trailing line breaks are ignored.
 * @param priority Highest priority of its operations: high or low.
 * @param names Names that it may use for everything: LMRs, locks, barriers, functions and ports. Each is a name, and may end
 *     with * (any text without a slash) or ** (any text). Default: every name, unless it has patterns in may.
 * @param may Further names, for one use only.
 */
record PrincipalProperties(
        String name,
        @Nullable Integer uid,
        @Nullable String token,
        @Nullable Path tokenFile,
        @DefaultValue("high") Priority priority,
        @DefaultValue List<String> names,
        @DefaultValue May may) {

    /**
     * Names that a principal may use in one way.
     *
     * @param create Names of LMRs that it may create.
     * @param map Names of LMRs that it may map, if their permissions allow it.
     * @param lock Names of locks and barriers that it may use.
     * @param serve Names of functions and ports that it may serve.
     * @param call Names of functions that it may call, and of ports that it may send to.
     */
    record May(
            @DefaultValue List<String> create,
            @DefaultValue List<String> map,
            @DefaultValue List<String> lock,
            @DefaultValue List<String> serve,
            @DefaultValue List<String> call) {}

    private NameRules rules() {
        try {
            return NameRules.of(
                    names,
                    Map.of(
                            NameRules.Use.CREATE, may.create(),
                            NameRules.Use.MAP, may.map(),
                            NameRules.Use.LOCK, may.lock(),
                            NameRules.Use.SERVE, may.serve(),
                            NameRules.Use.CALL, may.call()));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "lite.node.principals: the names of \"%s\": %s".formatted(name, e.getMessage()), e);
        }
    }

    boolean needsToken() {
        return token != null || tokenFile != null;
    }

    private @Nullable String configuredToken() {
        Path file = tokenFile;
        if (file == null) {
            return token;
        }
        String property = "the token-file of principal " + name;
        if (token != null) {
            throw new IllegalArgumentException("the token and %s are both set; set only one".formatted(property));
        }
        Trust.checkSecretFile(property, file);
        try {
            return Files.readString(file).stripTrailing();
        } catch (IOException e) {
            throw new UncheckedIOException("%s, %s, cannot be read".formatted(property, file), e);
        }
    }

    @Override
    public String toString() {
        return "Principal[name=%s, uid=%s, token=%s, priority=%s]"
                .formatted(name, uid, needsToken() ? "given" : "none", priority);
    }

    /** The priorities of all of them. */
    static Map<String, Priority> priorities(List<PrincipalProperties> principals) {
        Map<String, Priority> byPrincipal = new HashMap<>();
        for (PrincipalProperties principal : principals) {
            Priority before = byPrincipal.put(principal.name(), principal.priority());
            if (before != null && before != principal.priority()) {
                throw new IllegalArgumentException(
                        "lite.node.principals: \"%s\" has the priorities %s and %s; it can have only one"
                                .formatted(principal.name(), before, principal.priority()));
            }
        }
        return byPrincipal;
    }

    /** The names that principals may use; without those that may use every name. */
    static Map<String, NameRules> names(List<PrincipalProperties> principals) {
        Map<String, NameRules> byPrincipal = new HashMap<>();
        for (PrincipalProperties principal : principals) {
            NameRules rules = principal.rules();
            NameRules before = byPrincipal.put(principal.name(), rules);
            if (before != null && !before.equals(rules)) {
                throw new IllegalArgumentException(
                        "lite.node.principals: \"%s\" has two lists of names, %s and %s; it can have only one"
                                .formatted(principal.name(), before, rules));
            }
        }
        byPrincipal.values().removeIf(NameRules.ALL::equals);
        return byPrincipal;
    }

    /** Principals that may use every name, for the log; null: all of them are limited. */
    static @Nullable String unlimited(List<PrincipalProperties> principals) {
        if (principals.isEmpty()) {
            return "every user";
        }
        Map<String, NameRules> limited = names(principals);
        List<String> others = principals.stream()
                .map(PrincipalProperties::name)
                .distinct()
                .filter(principal -> !limited.containsKey(principal))
                .toList();
        return others.isEmpty() ? null : String.join(", ", others);
    }

    /** Who may attach. */
    static PrincipalPolicy policy(List<PrincipalProperties> principals) {
        if (principals.isEmpty()) {
            return PrincipalPolicy.byUid();
        }
        return PrincipalPolicy.of(principals.stream()
                .map(principal -> new PrincipalPolicy.Rule(
                        principal.name(),
                        principal.uid() == null ? OptionalInt.empty() : OptionalInt.of(principal.uid()),
                        principal.configuredToken()))
                .toList());
    }
}
