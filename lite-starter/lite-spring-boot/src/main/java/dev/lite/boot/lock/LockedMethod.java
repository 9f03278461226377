package dev.lite.boot.lock;

import dev.lite.api.LtSync;
import dev.lite.boot.DeferredResults;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;
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
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
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
                    name(environment.resolveRequiredPlaceholders(annotation.value())),
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

    private static Expression name(String text) {
        try {
            Expression name = PARSER.parseExpression(text, ParserContext.TEMPLATE_EXPRESSION);
            if (name instanceof LiteralExpression) {
                LtSync.checkName(text);
            }
            return name;
        } catch (ParseException e) {
            throw new IllegalArgumentException("the name \"%s\" is not valid: %s".formatted(text, e.getMessage()), e);
        }
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
     * @throws IllegalArgumentException when an expression is null: calls with different arguments would share a lock, or calls with
     *     the same one would not
     */
    String nameIn(MethodInvocation call) {
        if (name instanceof LiteralExpression) {
            return name.getExpressionString();
        }
        Object target = call.getThis();
        EvaluationContext context = new MethodBasedEvaluationContext(
                target == null ? call : target, method, call.getArguments(), PARAMETER_NAMES);
        Expression[] parts = name instanceof CompositeStringExpression composite
                ? composite.getExpressions()
                : new Expression[] {name};
        return Arrays.stream(parts).map(part -> evaluate(part, context)).collect(Collectors.joining());
    }

    private String evaluate(Expression part, EvaluationContext context) {
        String text = part.getValue(context, String.class);
        if (text == null) {
            throw new IllegalArgumentException("@LiteLock of %s: the expression #{%s} of the name is null%s"
                    .formatted(
                            method.toGenericString(),
                            part.getExpressionString(),
                            PARAMETER_NAMES.getParameterNames(method) == null
                                    ? "; the parameters have no names, as the class was compiled without -parameters"
                                    : ""));
        }
        return text;
    }
}
