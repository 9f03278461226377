package dev.lite.docs;

import dev.lite.cli.CommandSyntax;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A command line of the documentation.
 *
 * @param words the command and its arguments
 */
record ShellCommand(List<String> words) {
    /** Commands of the operating system; their arguments are not checked. */
    private static final Set<String> OTHERS = Set.of("cd", "chmod", "git", "helm", "kubectl", "openssl", "skopeo");

    /** Properties of Maven and its plugins. All others must occur in the sources. */
    private static final Set<String> MAVEN_PROPERTIES =
            Set.of("skipTests", "test", "surefire.failIfNoSpecifiedTests", "spring-boot.run.jvmArguments");

    private static final Pattern WORD = Pattern.compile("(?:[^\\s'\"]|'[^']*'|\"[^\"]*\")+");
    private static final Pattern INSIDE = Pattern.compile("(?:eval \"\\$|source <)\\((.*)\\)\"?");
    private static final Pattern PROFILE = Pattern.compile("<profile>\\s*<id>([^<]+)</id>");

    private static final String POMS =
            Repository.files("pom.xml"::equals).stream().map(Repository::read).collect(Collectors.joining("\n"));
    private static final String SOURCES = POMS
            + Repository.files(name -> name.endsWith(".java")).stream()
                    .filter(file -> !file.startsWith(Repository.ROOT.resolve("docs")))
                    .map(Repository::read)
                    .collect(Collectors.joining("\n"));

    /** The commands of a shell block, without comments. */
    static List<ShellCommand> of(String block) {
        List<ShellCommand> commands = new ArrayList<>();
        for (String line : block.replaceAll("\\\\\n", " ").lines().toList()) {
            for (String part : line.replaceFirst("(^|\\s)#.*", "").split("&&", -1)) {
                if (!part.isBlank()) {
                    commands.add(parse(part.strip()));
                }
            }
        }
        return commands;
    }

    /** One command. */
    static ShellCommand parse(String command) {
        Matcher inside = INSIDE.matcher(command);
        Matcher word = WORD.matcher(inside.matches() ? inside.group(1) : command);
        List<String> words = new ArrayList<>();
        while (word.find()) {
            words.add(word.group().replaceAll("['\"]", ""));
        }
        return new ShellCommand(List.copyOf(words));
    }

    /**
     * Checks what can be checked without running it.
     *
     * @throws IllegalArgumentException if it is a command that nobody checks, or an option, a name or a property is wrong
     */
    void check() {
        String name = words.getFirst();
        List<String> arguments = words.subList(1, words.size());
        if (name.equals("mvn") || name.equals("./mvnw")) {
            checkMaven(arguments);
        } else if (name.equals("lite") || name.endsWith("/lite")) {
            CommandSyntax.check(arguments.toArray(String[]::new));
        } else if (name.equals("java")) {
            checkJava(arguments);
        } else if (!OTHERS.contains(name)) {
            throw new IllegalArgumentException("nobody checks commands of " + name);
        }
    }

    private static void checkMaven(List<String> arguments) {
        for (int index = 0; index < arguments.size(); index++) {
            String argument = arguments.get(index);
            if (argument.startsWith("-P")) {
                for (String profile : argument.substring(2).split(",", -1)) {
                    require(profiles().contains(profile), "no pom.xml has the profile " + profile);
                }
            } else if (argument.equals("-pl")) {
                index++;
                for (String module : arguments.get(index).split(",", -1)) {
                    require(
                            Files.exists(Repository.ROOT.resolve(module).resolve("pom.xml")),
                            module + " is not a module");
                }
            } else if (argument.startsWith("-D")) {
                String property = argument.substring(2).replaceFirst("=.*", "");
                require(
                        MAVEN_PROPERTIES.contains(property) || SOURCES.contains(property) || isOfDocs(property),
                        "nothing reads the property " + property);
            }
        }
    }

    private static boolean isOfDocs(String property) {
        return property.startsWith("lite.docs.") && POMS.contains(property);
    }

    private static Set<String> profiles() {
        return PROFILE.matcher(POMS).results().map(profile -> profile.group(1)).collect(Collectors.toSet());
    }

    private static void checkJava(List<String> arguments) {
        int jar = arguments.indexOf("-jar");
        require(jar >= 0, "java without -jar");
        // The JVM's options stand before the jar.
        for (String argument : arguments.subList(jar, arguments.size())) {
            if (argument.startsWith("--")) {
                String property = argument.substring(2).replaceFirst("=.*", "");
                require(PropertiesBlocksTest.isKnown(property), property + " is not a property");
            }
        }
    }

    private static void require(boolean isTrue, String otherwise) {
        if (!isTrue) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
