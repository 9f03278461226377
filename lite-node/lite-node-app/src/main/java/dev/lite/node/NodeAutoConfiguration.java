package dev.lite.node;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;

/**
 * The part of Spring Boot's auto-configuration that a node needs, listed in
 * {@code META-INF/spring/dev.lite.node.NodeAutoConfiguration.imports}. Checking the conditions of everything on the class path
 * takes an eighth of a start.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ImportAutoConfiguration
@interface NodeAutoConfiguration {}
