package dev.lite.boot.lock;

import dev.lite.api.LtSync;
import dev.lite.boot.DeferredResults;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.Environment;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.ExpressionUtils;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.spel.ExpressionState;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.OpPlus;
import org.springframework.expression.spel.ast.Ternary;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.scheduling.annotation.Async;

/**
 * A method with {@link LiteLock}, checked. Immutable; any thread.
 *
 * @param method as the bean's class declares it
 * @param name of the lock
 * @param deadline null for the default
 */
record LockedMethod(
        Method method, Expression name, @Nullable Duration deadline) {

    private static final SpelExpressionParser PARSER = new SpelExpressionParser();
    /** The last parameter of a suspend function of Kotlin, which need not be on the class path. */
    private static final String CONTINUATION = "kotlin.coroutines.Continuation";

    private static final ParameterNameDiscoverer PARAMETER_NAMES = new DefaultParameterNameDiscoverer();

    /** A variable in the text of a name. */
    private static final Pattern VARIABLE = Pattern.compile("#(\\w+)");

    /** Variables of every expression: the bean, and the element of a list that is being evaluated. */
    private static final Set<String> BUILT_IN = Set.of("root", "this");

    /**
     * Checks the method.
     *
     * @param type the bean's class
     * @throws IllegalStateException when the lock cannot be held while it runs, or an attribute is not valid
     */
    static LockedMethod of(Method method, Class<?> type, LiteLock annotation, Environment environment) {
        try {
            checkMethod(method, type);
            return new LockedMethod(
                    method,
                    name(environment.resolveRequiredPlaceholders(annotation.value()), method),
                    deadline(environment.resolveRequiredPlaceholders(annotation.deadline())));
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(
                    "@LiteLock(\"%s\") of %s: %s"
                            .formatted(annotation.value(), method.toGenericString(), e.getMessage()),
                    e);
        }
    }

    private static void checkMethod(Method method, Class<?> type) {
        if ((method.getModifiers() & (Modifier.PRIVATE | Modifier.STATIC | Modifier.FINAL)) != 0) {
            throw new IllegalArgumentException("a proxy cannot intercept a private, static or final method");
        }
        if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
                || AnnotatedElementUtils.hasAnnotation(type, Async.class)) {
            throw new IllegalArgumentException("it is @Async, and the lock would be released before its body has run");
        }
        Class<?>[] parameters = method.getParameterTypes();
        if (parameters.length > 0 && parameters[parameters.length - 1].getName().equals(CONTINUATION)) {
            throw new IllegalArgumentException(
                    "it is a suspend function, and the lock would be released at its first suspension");
        }
        String deferred = DeferredResults.describe(ResolvableType.forMethodReturnType(method, type));
        if (deferred != null) {
            throw new IllegalArgumentException(
                    "it returns %s, and the lock would be released before that completes".formatted(deferred));
        }
    }

    /**
     * Checks what the method has returned, which its type may not show.
     *
     * @throws IllegalStateException when its work is not done, and would continue without the lock
     */
    @Nullable
    Object requireDone(@Nullable Object result) {
        String deferred = DeferredResults.describeResult(result);
        if (deferred != null) {
            throw new IllegalStateException(
                    "@LiteLock of %s: it returned %s, and the lock is released before that completes"
                            .formatted(method.toGenericString(), deferred));
        }
        return result;
    }

    private static Expression name(String text, Method method) {
        try {
            Expression name = PARSER.parseExpression(text, ParserContext.TEMPLATE_EXPRESSION);
            if (name instanceof LiteralExpression) {
                LtSync.checkName(text);
            }
            checkVariables(name, method);
            return name;
        } catch (ParseException e) {
            throw new IllegalArgumentException("the name \"%s\" is not valid: %s".formatted(text, e.getMessage()), e);
        }
    }

    /**
     * A variable that is no parameter would be null. So {@code #{'stock/' + #artcle}} would be one lock for
     * all articles. So would a parameter that is not in an expression.
     */
    private static void checkVariables(Expression name, Method method) {
        List<String> parameters = parameterNames(method);
        for (Expression part : parts(name)) {
            if (part instanceof SpelExpression expression) {
                checkVariables(expression.getAST(), parameters, method.getParameterCount());
            } else {
                VARIABLE.matcher(part.getExpressionString())
                        .results()
                        .map(variable -> variable.group(1))
                        .filter(parameters::contains)
                        .findFirst()
                        .ifPresent(variable -> {
                            throw new IllegalArgumentException(
                                    "the name has #%s outside of an expression; write #{#%1$s}".formatted(variable));
                        });
            }
        }
    }

    /** The names that are known. */
    private static List<String> parameterNames(Method method) {
        List<String> known = new ArrayList<>();
        @Nullable String[] names = PARAMETER_NAMES.getParameterNames(method);
        if (names != null) {
            for (String name : names) {
                if (name != null) {
                    known.add(name);
                }
            }
        }
        return known;
    }

    private static void checkVariables(SpelNode node, List<String> parameters, int count) {
        if (node instanceof VariableReference) {
            String variable = node.toStringAST().substring(1);
            boolean isKnown = BUILT_IN.contains(variable)
                    || parameters.contains(variable)
                    || IntStream.range(0, count).anyMatch(i -> variable.equals("a" + i) || variable.equals("p" + i));
            if (!isKnown) {
                throw new IllegalArgumentException(
                        "the name has the variable #%s, and the method has no such parameter%s"
                                .formatted(variable, otherwise(parameters, count)));
            }
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            checkVariables(node.getChild(i), parameters, count);
        }
    }

    /** What the method has instead of a parameter that is not known. */
    private static String otherwise(List<String> parameters, int count) {
        if (count == 0) {
            return "";
        }
        return parameters.isEmpty()
                ? "; the parameters have no names, as the class was compiled without -parameters"
                : "; it has " + parameters.stream().map(name -> "#" + name).collect(Collectors.joining(", "));
    }

    private static List<Expression> parts(Expression name) {
        return name instanceof CompositeStringExpression composite
                ? List.of(composite.getExpressions())
                : List.of(name);
    }

    private static @Nullable Duration deadline(String text) {
        if (text.isEmpty()) {
            return null;
        }
        Duration deadline;
        try {
            deadline = DurationStyle.detectAndParse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "the deadline \"%s\" is not a duration such as 2s or 500ms".formatted(text), e);
        }
        if (!deadline.isPositive()) {
            throw new IllegalArgumentException("the deadline is %s; it must be positive".formatted(text));
        }
        return deadline;
    }

    /**
     * The lock's name in this call.
     *
     * @throws IllegalArgumentException when an expression, or an operand of its +, is null: calls with different
     *     arguments would share a lock, or calls with the same one would not; or when it cannot be evaluated
     */
    String nameIn(MethodInvocation call) {
        if (name instanceof LiteralExpression) {
            return name.getExpressionString();
        }
        Object target = call.getThis();
        EvaluationContext context = new MethodBasedEvaluationContext(
                target == null ? call : target, method, call.getArguments(), PARAMETER_NAMES);
        return parts(name).stream().map(part -> evaluate(part, context)).collect(Collectors.joining());
    }

    private String evaluate(Expression part, EvaluationContext context) {
        try {
            if (part instanceof SpelExpression expression) {
                requireOperands(expression.getAST(), expression, new ExpressionState(context));
            }
            String text = part.getValue(context, String.class);
            if (text == null) {
                throw new IllegalArgumentException("@LiteLock of %s: the expression #{%s} of the name is null"
                        .formatted(method.toGenericString(), part.getExpressionString()));
            }
            return text;
        } catch (EvaluationException e) {
            throw new IllegalArgumentException(
                    "@LiteLock of %s: the expression #{%s} of the name cannot be evaluated: %s"
                            .formatted(method.toGenericString(), part.getExpressionString(), e.getMessage()),
                    e);
        }
    }

    /** A + makes the text "null" of null. Evaluates the operands that the result comes from once more. */
    private void requireOperands(SpelNode node, Expression part, ExpressionState state) {
        if (node instanceof Ternary) {
            boolean isFirst = Boolean.TRUE.equals(ExpressionUtils.convertTypedValue(
                    state.getEvaluationContext(), node.getChild(0).getTypedValue(state), Boolean.class));
            requireOperands(node.getChild(isFirst ? 1 : 2), part, state);
        } else if (node instanceof OpPlus) {
            for (int i = 0; i < node.getChildCount(); i++) {
                SpelNode operand = node.getChild(i);
                requireOperands(operand, part, state);
                if (!(operand instanceof OpPlus) && operand.getValue(state) == null) {
                    throw new IllegalArgumentException(
                            "@LiteLock of %s: the operand %s of the expression #{%s} of the name is null"
                                    .formatted(
                                            method.toGenericString(),
                                            operand.toStringAST(),
                                            part.getExpressionString()));
                }
            }
        }
    }
}
