package dev.lite.api.internal;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The names below {@code lite.} that the configuration metadata on a class path knows, to find misspelt ones. Any thread.
 *
 * <p>Groups of properties that only other LITE processes have are never misspelt: processes often share a file or an environment.
 */
public final class PropertyNames {
    private static final String METADATA = "META-INF/spring-configuration-metadata.json";
    private static final String PREFIX = "lite.";
    private static final String VARIABLE_PREFIX = "LITE_";

    /** A name and its type, in the metadata's JSON. */
    private static final Pattern PROPERTY =
            Pattern.compile("\"name\"\\s*:\\s*\"(lite\\.[^\"]+)\"(?:\\s*,\\s*\"type\"\\s*:\\s*\"([^\"]*)\")?");

    /** The variables that Kubernetes sets for a service whose name begins with "lite-". */
    private static final Pattern SERVICE =
            Pattern.compile("LITE_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\\d+_(TCP|UDP|SCTP)(_.*)?)?)");

    private static final Set<String> PROCESSES =
            Set.of("client", "cluster", "demo", "embedded", "fabric", "manager", "node", "test");

    /** What starts processes may give these to any, also to an application that does not read them. */
    private static final Set<String> ANY_PROCESS =
            Set.of("lite.ready-file", "lite.exit-with-pid", "lite.exit-message-file");

    /** Variables of the command line and its script. */
    private static final Set<String> VARIABLES =
            Set.of("LITE_HOME", "LITE_JAVA", "LITE_MANAGER", "LITE_TOKEN", "LITE_TOKEN_FILE");

    /** Without dashes and in lower case, as Spring Boot compares names → as the metadata writes it. */
    private final Map<String, String> known = new HashMap<>();

    /** Names of lists and maps, which have names of their own below them. */
    private final Set<String> containers = new HashSet<>();

    private final Set<String> groups = new HashSet<>();

    private PropertyNames() {
        ANY_PROCESS.forEach(name -> known.put(uniform(name), name));
    }

    /**
     * Reads all metadata of an application, which may have names of its own.
     *
     * @throws UncheckedIOException if it cannot be read
     */
    public static PropertyNames of(ClassLoader loader) {
        return read(loader, false);
    }

    /**
     * Reads the metadata of a LITE process, which is the first on its class path that has names; the libraries' take long to read.
     *
     * @throws UncheckedIOException if it cannot be read
     */
    public static PropertyNames ofProcess(ClassLoader loader) {
        return read(loader, true);
    }

    private static PropertyNames read(ClassLoader loader, boolean isFirstEnough) {
        PropertyNames names = new PropertyNames();
        try {
            Enumeration<URL> urls = loader.getResources(METADATA);
            while (urls.hasMoreElements() && !(isFirstEnough && !names.groups.isEmpty())) {
                URLConnection connection = urls.nextElement().openConnection();
                connection.setUseCaches(false);
                try (InputStream in = connection.getInputStream()) {
                    names.add(new String(in.readAllBytes(), StandardCharsets.UTF_8));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the metadata of the properties cannot be read", e);
        }
        return names;
    }

    private void add(String metadata) {
        if (!metadata.contains("\"" + PREFIX)) {
            return; // of a library; most are
        }
        Matcher property = PROPERTY.matcher(metadata);
        while (property.find()) {
            String name = property.group(1);
            String type = property.group(2);
            known.put(uniform(name), name);
            groups.add(group(uniform(name)));
            if (type != null && (type.startsWith("java.util.List<") || type.startsWith("java.util.Map<"))) {
                containers.add(uniform(name));
            }
        }
    }

    /** Whether any of these names is below {@code lite.} or {@code LITE_}. */
    public static boolean areAny(Collection<String> properties, Collection<String> variables) {
        return any(properties, name -> uniform(name).startsWith(PREFIX))
                || any(variables, name -> name.startsWith(VARIABLE_PREFIX));
    }

    /**
     * What is wrong with the names of properties: one line that has all unknown ones, each with the nearest known one.
     *
     * @param properties names as in files; those that do not begin with {@code lite.} are ignored
     * @param variables names of environment variables; those that do not begin with {@code LITE_} are ignored
     * @return empty if nothing is wrong
     */
    public Optional<String> problem(Collection<String> properties, Collection<String> variables) {
        List<String> problems = new ArrayList<>();
        for (String property : properties) {
            String name = uniform(property);
            if (name.startsWith(PREFIX) && !isAnotherProcess(group(name)) && !isKnown(name)) {
                problems.add("there is no property %s; the nearest known one is %s".formatted(property, nearest(name)));
            }
        }
        for (String variable : variables) {
            String name = variable.toLowerCase(Locale.ROOT).replace('_', '.');
            if (variable.startsWith(VARIABLE_PREFIX)
                    && !VARIABLES.contains(variable)
                    && !SERVICE.matcher(variable).matches()
                    && !isAnotherProcess(group(name))
                    && !isKnownVariable(name.replace(".", ""))) {
                problems.add("there is no property of the environment variable %s; the nearest known one is %s"
                        .formatted(variable, nearest(name)));
            }
        }
        return problems.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", problems));
    }

    private boolean isAnotherProcess(String group) {
        return PROCESSES.contains(group) && !groups.contains(group);
    }

    private boolean isKnown(String name) {
        // An empty map of a YAML file is the name of a group.
        return known.containsKey(name)
                || any(known.keySet(), property -> property.startsWith(name + "."))
                || any(containers, container -> name.startsWith(container + "."));
    }

    private boolean isKnownVariable(String letters) {
        return any(known.keySet(), property -> property.replace(".", "").equals(letters))
                || any(containers, container -> letters.startsWith(container.replace(".", "")));
    }

    private static boolean any(Collection<String> names, Predicate<String> condition) {
        return names.stream().anyMatch(condition);
    }

    private String nearest(String name) {
        String best = "";
        int leastEdits = Integer.MAX_VALUE;
        for (Map.Entry<String, String> candidate : known.entrySet()) {
            int edits = edits(name, candidate.getKey());
            if (edits < leastEdits
                    || (edits == leastEdits && candidate.getValue().compareTo(best) < 0)) {
                best = candidate.getValue();
                leastEdits = edits;
            }
        }
        return best;
    }

    /** The least number of characters to insert, delete or replace (Levenshtein). */
    private static int edits(String from, String to) {
        int[] row = new int[to.length() + 1];
        for (int column = 0; column < row.length; column++) {
            row[column] = column;
        }
        for (int line = 1; line <= from.length(); line++) {
            int diagonal = row[0];
            row[0] = line;
            for (int column = 1; column < row.length; column++) {
                int replaced = diagonal + (from.charAt(line - 1) == to.charAt(column - 1) ? 0 : 1);
                diagonal = row[column];
                row[column] = Math.min(replaced, 1 + Math.min(row[column], row[column - 1]));
            }
        }
        return row[to.length()];
    }

    private static String uniform(String name) {
        return name.toLowerCase(Locale.ROOT)
                .replaceAll("\\[[^\\]]*\\]", ".0")
                .replace("-", "")
                .replace("_", "");
    }

    /** The part after {@code lite.}. */
    private static String group(String name) {
        int end = name.indexOf('.', PREFIX.length());
        return name.length() < PREFIX.length() ? "" : name.substring(PREFIX.length(), end < 0 ? name.length() : end);
    }
}
